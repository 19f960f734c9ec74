// Text that came from outside, made safe to read and to paste: what a terminal would obey, what
// would begin another line of a log, and what would show other letters than are there.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

// For people. Control characters (C0, DEL, C1), bytes that are no UTF-8, and characters that
// change how others are shown (bidirectional overrides, zero-width ones, line separators) are
// written as \x1b or \u{202e}; everything else stays as it is.
std::string printable(std::string_view text);

// A JSON text, of which the same characters are left within strings: as \u202e. It reads back as
// the same value, save that bytes which are no UTF-8 become U+FFFD.
std::string printable_json(std::string document);

// One word for a POSIX shell, whatever is in it: plain, in single quotes, or, where something in it
// cannot be shown, in the form $'...' of bash and zsh.
std::string shell_word(std::string_view text);

}  // namespace pawl
