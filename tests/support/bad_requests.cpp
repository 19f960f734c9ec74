#include "tests/support/bad_requests.hpp"

#include <array>

namespace pawl::testing {
namespace {

using std::string_literals::operator""s;

constexpr int accepted = RawRequest::accepted;
constexpr int cut_off = RawRequest::cut_off;

// Every request is whole and has a key, so that its one fault is all that can stop it.
const std::string line = "POST /pay HTTP/1.1\r\n";
const std::string host = "Host: a\r\n";
const std::string key = "Idempotency-Key: \"KEY\"\r\n";
const std::string end = "Content-Length: 5\r\n\r\nhello";
const std::string chunked = "Transfer-Encoding: chunked\r\n";

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

RawRequest row(std::string number, std::string bytes, int status) {
  replace_all(bytes, "KEY", key_of(number));
  return {std::move(number), std::move(bytes), status};
}

// The same fault in several forms, numbered.
struct Forms {
  std::string number;
  std::vector<std::string> forms;
  int status;
};

template <class Whole>
std::vector<RawRequest> spread(const std::vector<Forms>& all, Whole whole) {
  std::vector<RawRequest> rows;
  for (const Forms& forms : all) {
    for (std::size_t i = 0; i < forms.forms.size(); ++i) {
      const std::string suffix = forms.forms.size() == 1 ? "" : "_" + std::to_string(i + 1);
      rows.push_back(row(forms.number + suffix, whole(forms.forms[i]), forms.status));
    }
  }
  return rows;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

std::string key_of(std::string_view row) { return "row-" + std::string(row) + "-0123456789"; }

std::vector<RawRequest> bad_request_lines() {
  const std::vector<Forms> all{
      {"A1", {"POST  /pay HTTP/1.1\r\n", "POST /pay  HTTP/1.1\r\n"}, 400},
      {"A2", {"POST\t/pay HTTP/1.1\r\n", "POST /pay\tHTTP/1.1\r\n"}, 400},
      {"A3", {" POST /pay HTTP/1.1\r\n"}, 400},
      {"A4", {"POST /pay HTTP/1.1 \r\n", "POST /pay HTTP/1.1\t\r\n"}, 400},
      {"A5", {"POST /pay x HTTP/1.1\r\n"}, 400},
      {"A6", {"POST /pay\r\n"}, 400},
      {"A7", {"POST /pay HTTP/2.0\r\n", "POST /pay HTTP/0.9\r\n"}, 505},
      {"A8",
       {"POST /pay HTTP/1.10\r\n", "POST /pay HTTP/01.1\r\n", "POST /pay http/1.1\r\n",
        "POST /pay HTTP/1,1\r\n", "POST /pay HTTP/1.\r\n", "POST /pay HTTPS/1.1\r\n"},
       400},
      {"A10", {"PO(ST /pay HTTP/1.1\r\n", "PO\x80ST /pay HTTP/1.1\r\n"}, 400},
      {"A11", {"post /pay HTTP/1.1\r\n", "Post /pay HTTP/1.1\r\n"}, 501},
      {"A12", {std::string(9000, 'P') + " /pay HTTP/1.1\r\n"}, 501},
      {"A13", {"POST /" + std::string(70000, 'p') + " HTTP/1.1\r\n"}, 414},
      {"A14", {"POST /pay HTTP/1.1\n"}, 400},
      {"A15", {"POST /p\ray HTTP/1.1\r\n", "POST /pay\r HTTP/1.1\r\n"}, 400},
      {"A16",
       {"POST /p\0ay HTTP/1.1\r\n"s,
        "POST /p\x01"
        "ay HTTP/1.1\r\n",
        "POST /p\x7f"
        "ay HTTP/1.1\r\n",
        "POST /p\xe9y HTTP/1.1\r\n", "POST /pay?q=\xe9 HTTP/1.1\r\n"},
       400},
      {"A17", {"\r\n" + line, "\r\n\r\n" + line}, accepted},
      {"A17_many", {"\r\n\r\n\r\n" + line}, 400},
  };
  std::vector<RawRequest> rows =
      spread(all, [](const std::string& form) { return form + host + key + end; });
  rows.push_back(row("A9", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505));
  return rows;
}

std::vector<RawRequest> bad_header_sections() {
  const std::vector<Forms> all{
      {"B1", {"X : v\r\n", "X\t: v\r\n"}, 400},
      {"B3", {"X: a\r\n b\r\n", "X: a\r\n\tb\r\n"}, 400},
      {"B5", {"X: a\nTransfer-Encoding: chunked\r\n"}, 400},
      {"B6", {"X: a\rY: b\r\n"}, 400},
      {"B7", {"X: a\0b\r\n"s}, 400},
      {"B8",
       {"X: a\x01"
        "b\r\n",
        "X: a\x7f\r\n"},
       400},
      {"B9", {": v\r\n"}, 400},
      {"B10", {"X v\r\n", "X\r\n"}, 400},
      {"B11", {"X@Y: v\r\n", "X(Y): v\r\n", "X Y: v\r\n"}, 400},
      {"B12", {"X\x85: v\r\n", "\xa0X: v\r\n"}, 400},
      {"B14", {"X: v\r\n\rZ"}, 400},
      {"B16",
       {"Content_Length: 5\r\n", "Idempotency_Key: \"k\"\r\n", "Transfer_Encoding: chunked\r\n",
        "content.length: 5\r\n", "X_HTTP_Method_Override: DELETE\r\n", "Pawl_Caller: x\r\n",
        "X_Forwarded_For: 127.0.0.1\r\n"},
       400},
      {"B17", {"X: " + std::string(100'000, 'x') + "\r\n"}, 431},
      {"B18", {repeated("X: y\r\n", 5000)}, 431},
      {"B20",
       {"Content-Type: application/json\r\nContent-Type: text/plain\r\n",
        "Content-Type: text/plain\r\nContent-Type: text/plain\r\n",
        "Authorization: a\r\nauthorization: b\r\n",
        "Content-Encoding: gzip\r\nContent-Encoding: identity\r\n",
        "traceparent: a\r\ntraceparent: b\r\n", key},
       400},
  };
  std::vector<RawRequest> rows = spread(all, [](const std::string& form) {
    return line + host + key + form + "X-Last: 1\r\n" + end;
  });
  rows.push_back(row("B2", line + " " + host + key + end, 400));
  // What these hide is the framing, so they have no other.
  const std::string start = line + host + key;
  const std::string chunks = "\r\n5\r\nhello\r\n0\r\n\r\n";
  rows.push_back(row("B1_length", start + "Content-Length : 5\r\n\r\nhello", 400));
  rows.push_back(row("B4", start + "Transfer-Encoding:\r\n chunked\r\n" + chunks, 400));
  rows.push_back(row("B10_length", start + "Content-Length 5\r\n\r\nhello", 400));
  rows.push_back(row("B12_length", start + "Content-Length\x85: 5\r\n\r\nhello", 400));
  rows.push_back(row("B13", start + "Transfer-\r\nEncoding: chunked\r\n" + chunks, 400));
  rows.push_back(row("B15",
                     start +
                         "Transfer-Encoding: \xa0"
                         "chunked\r\n" +
                         chunks,
                     400));
  rows.push_back(row("B19", line + host + key, cut_off));
  return rows;
}

std::vector<RawRequest> bad_content_lengths() {
  const std::vector<Forms> all{
      {"C1", {"Content-Length: 5\r\nContent-Length: 6\r\n"}, 400},
      {"C2", {"Content-Length: 5, 6\r\n"}, 400},
      {"C3", {"Content-Length: 5, 5\r\n", "Content-Length: 5\r\ncontent-length: 5\r\n"}, 400},
      {"C4", {"Content-Length: +5\r\n", "Content-Length: -5\r\n"}, 400},
      {"C5",
       {"Content-Length: 0x5\r\n", "Content-Length: 1e1\r\n", "Content-Length: 1_0\r\n",
        "Content-Length: 5.0\r\n"},
       400},
      {"C6", {"Content-Length: 5 5\r\n", "Content-Length: 5;\r\n", "Content-Length: 5Z\r\n"}, 400},
      {"C7", {"Content-Length:\r\n", "Content-Length: \t \r\n"}, 400},
      {"C8", {"Content-Length:\r\nContent-Length: 43\r\n"}, 400},
      {"C9",
       {"Content-Length: 18446744073709551617\r\n", "Content-Length: 18446744073709551621\r\n"},
       400},
  };
  std::vector<RawRequest> rows = spread(
      all, [](const std::string& form) { return line + host + key + form + "\r\nhello world"; });
  rows.push_back(row("C10", line + host + key + "Content-Length: 010\r\n\r\nhellohello", accepted));
  rows.push_back(row("C12", line + host + key + "Content-Length: 100\r\n\r\nabc", cut_off));
  rows.push_back(row("C15", line + host + key + "\r\n", accepted));
  return rows;
}

std::vector<RawRequest> bad_transfer_encodings() {
  const std::vector<Forms> all{
      {"D1", {"Content-Length: 5\r\n" + chunked, chunked + "Content-Length: 5\r\n"}, 400},
      {"D2", {chunked + chunked, "Transfer-Encoding: chunked, chunked\r\n"}, 400},
      {"D3", {"Transfer-Encoding: chunked, gzip\r\n"}, 400},
      {"D4", {"Transfer-Encoding: gzip\r\n"}, 400},
      {"D5", {"Transfer-Encoding: gzip, chunked\r\n"}, 501},
      {"D6", {"Transfer-Encoding: identity\r\n"}, 400},
      {"D7",
       {"Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: chunkedx\r\n",
        "Transfer-Encoding: \"chunked\"\r\n", "Transfer-Encoding: 'chunked'\r\n"},
       400},
      {"D8", {"Transfer-Encoding: ,chunked\r\n", "Transfer-Encoding: chunked,\r\n"}, 400},
      {"D9", {"Transfer-Encoding:\r\nContent-Length: 5\r\n", "Transfer-Encoding:\r\n"}, 400},
      {"D10", {"Transfer-Encoding: chunked;q=1\r\n", "Transfer-Encoding: chunked ;\r\n"}, 400},
      {"D11", {"Transfer-Encoding: CHUNKED\r\n", "transfer-encoding:chunked \r\n"}, accepted},
      {"D13",
       {"Transfer-Encoding: chunked\x0b\r\n",
        "Transfer-Encoding: \x0c"
        "chunked\r\n"},
       400},
      {"D14", {"TE: chunked\r\n" + chunked}, accepted},
  };
  std::vector<RawRequest> rows = spread(all, [](const std::string& form) {
    return line + host + key + form + "\r\n5\r\nhello\r\n0\r\n\r\n";
  });
  rows.push_back(row(
      "D12", "POST /pay HTTP/1.0\r\n" + host + key + chunked + "\r\n5\r\nhello\r\n0\r\n\r\n", 400));
  return rows;
}

std::vector<RawRequest> bad_chunks() {
  const std::vector<Forms> all{
      {"E1", {"5\nhello\r\n0\r\n\r\n"}, 400},
      {"E2", {"5\r\nhello\n0\r\n\r\n"}, 400},
      {"E3", {"5\r\nhelloXX0\r\n\r\n", "5\r\nhello0\r\n\r\n"}, 400},
      {"E4", {"FFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n"}, 400},
      {"E5", {"10000000000000005\r\nhello\r\n0\r\n\r\n"}, 400},
      {"E6",
       {"0x5\r\nhello\r\n0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n", "-5\r\nhello\r\n0\r\n\r\n",
        "5_0\r\nhello\r\n0\r\n\r\n"},
       400},
      {"E7",
       {" 5\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", "5\t;a\r\nhello\r\n0\r\n\r\n"},
       400},
      {"E8", {"\r\nhello\r\n0\r\n\r\n", ";a\r\nhello\r\n0\r\n\r\n"}, 400},
      {"E9", {"5zz\r\nhello\r\n0\r\n\r\n"}, 400},
      {"E10", {"5;a=b\r\nhello\r\n0\r\n\r\n", "5;a=\"b;c\"\r\nhello\r\n0;d\r\n\r\n"}, accepted},
      {"E11", {"5;" + std::string(100'000, 'a') + "\r\nhello\r\n0\r\n\r\n"}, 400},
      {"E12",
       {"5;a=\"x\r\nhello\r\n0\r\n\r\n", "5;a=\"x\n\"\r\nhello\r\n0\r\n\r\n",
        "5;a\nb\r\nhello\r\n0\r\n\r\n", "5;a\rb\r\nhello\r\n0\r\n\r\n"},
       400},
      {"E13", {"5\r\r;a\r\nhello\r\n0\r\n\r\n"}, 400},
      {"E14", {"5\r\nhello\r\n", "5\r\nhel", "5\r\nhello\r\n0\r\n", "5"}, cut_off},
      {"E15", {"5\r\nhello\r\n0\r\nX: y\r\n\r\n"}, accepted},
      {"E16",
       {"5\r\nhello\r\n0\r\nContent-Length: 7\r\n\r\n", "5\r\nhello\r\n0\r\nHost: b\r\n\r\n",
        "5\r\nhello\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n",
        "5\r\nhello\r\n0\r\nIdempotency-Key: \"other-key-0123456789\"\r\n\r\n",
        "5\r\nhello\r\n0\r\nAuthorization: b\r\n\r\n"},
       accepted},
      {"E17",
       {"5\r\nhello\r\n0\r\nXX\r\n\r\n", "5\r\nhello\r\n0\r\n X: y\r\n\r\n",
        "5\r\nhello\r\n0\r\n\rX", "5\r\nhello\r\n0\r\n\n"},
       400},
      {"E18", {"5\r\nhello\r\n0\r\n" + repeated("X: 0123456789\r\n", 70'000) + "\r\n"}, 431},
      {"E19", {repeated("1\r\nx\r\n", 1'000'000) + "0\r\n\r\n"}, 413},
      {"E20", {"0000000000000005\r\nhello\r\n0\r\n\r\n"}, accepted},
      {"E20_many", {"000000000000000000005\r\nhello\r\n0\r\n\r\n"}, 400},
  };
  return spread(
      all, [](const std::string& form) { return line + host + key + chunked + "\r\n" + form; });
}

std::vector<RawRequest> bad_targets() {
  const auto post = [](const std::string& target) { return "POST " + target + " HTTP/1.1\r\n"; };
  const std::vector<Forms> all{
      {"F1", {line}, 400},
      {"F2", {line + host + host, line + host + "host: b\r\n"}, 400},
      {"F3",
       {line + "Host: a b\r\n", line + "Host: a/b\r\n", line + "Host: a@b\r\n",
        line + "Host: a:99999\r\n", line + "Host: a,b\r\n", line + "Host: a:b\r\n",
        line + "Host: a:80:80\r\n", line + "Host: :80\r\n", line + "Host: [::1\r\n",
        line + "Host: [::1]x\r\n", line + "Host: [1::2::3]\r\n", line + "Host: a%00\r\n",
        line + "Host:\r\n", line + "Host: \xe9\r\n"},
       400},
      {"F4", {post("http://b/pay") + host, post("http://a:81/pay") + host}, 400},
      {"F5",
       {post("http://a/pay") + host, post("HTTP://A/pay") + host, line + "Host: [::1]:80\r\n"},
       accepted},
      {"F6", {post("http://u:p@a/pay") + host, post("http://a@a/pay") + host}, 400},
      {"F7", {post("/pay#frag") + host, post("http://a#frag") + host}, 400},
      {"F8", {post("*") + host}, 400},
      {"F9", {post("a:443") + host}, 400},
      {"F10", {"CONNECT b:443 HTTP/1.1\r\n" + host}, 501},
      {"F11", {post("pay") + host, post("ftp://a/pay") + host, post("http:///pay") + host}, 400},
      {"F12",
       {post("/a/../pay") + host, post("/a/%2e%2e/pay") + host, post("/a/.%2E/pay") + host,
        post("/./pay") + host, post("/pay/..") + host, post("/a/..;x/pay") + host,
        post("/a/..%2fpay") + host, post("/a\\..\\pay") + host},
       400},
      {"F12_as_sent",
       {post("//pay") + host, post("/pay;x=1") + host, post("/p%61y") + host,
        post("/a..b/.c/...") + host},
       accepted},
      {"F13",
       {post("/pay%00") + host, post("/pay%0d%0aX:1") + host, post("/pay%zz") + host,
        post("/pay%4") + host, post("/pay?q=%") + host, post("/pay?q=%00") + host},
       400},
      {"F13_query", {post("/pay?q=a%0Ab&r=100%25") + host}, accepted},
  };
  return spread(all, [](const std::string& form) { return form + key + end; });
}

std::vector<RawRequest> bad_connections() {
  const std::vector<Forms> all{
      {"G1", {"Connection: close, X-Foo\r\nX-Foo: 1\r\n"}, accepted},
      {"G2",
       {"Connection: Idempotency-Key\r\n", "Connection: close, authorization\r\n",
        "Connection: Host\r\n", "Connection: Content-Type\r\n", "Connection: Content-Length\r\n",
        "Connection: cookie\r\n", "Connection: x\r\nConnection: traceparent\r\n",
        "Connection: If-Match\r\n"},
       400},
      {"G2_form", {"Connection: a b\r\n", "Connection: \"close\"\r\n"}, 400},
      {"G3",
       {"Proxy-Connection: keep-alive\r\nKeep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\n"},
       accepted},
      {"G4",
       {"Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n"},
       accepted},
      {"G5", {"Connection: upgrade\r\nUpgrade: websocket\r\n"}, accepted},
      {"G8", {"Expect: something\r\n", "Expect: 100-continue\r\nExpect: something\r\n"}, 417},
  };
  std::vector<RawRequest> rows =
      spread(all, [](const std::string& form) { return line + host + key + form + end; });
  rows.push_back(row("G7", "POST /pay HTTP/1.0\r\n" + host + key + "Expect: 100-continue\r\n" + end,
                     accepted));
  rows.push_back(row("G14", "TRACE /pay HTTP/1.1\r\n" + host + "Cookie: c=1\r\n\r\n", 405));
  return rows;
}

std::vector<RawRequest> bad_requests() {
  std::vector<RawRequest> all;
  for (auto* section : {bad_request_lines, bad_header_sections, bad_content_lengths,
                        bad_transfer_encodings, bad_chunks, bad_targets, bad_connections}) {
    for (RawRequest& request : section()) all.push_back(std::move(request));
  }
  return all;
}

}  // namespace pawl::testing
