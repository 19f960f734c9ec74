package pawl

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

var lastKey struct {
	sync.Mutex
	at    int64
	count uint16
}

// NewKey makes a key for one intent: a UUID of version 7. Later ones of this process sort after earlier ones.
func NewKey() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic("pawl: no randomness: " + err.Error()) // a guessable key would be somebody else's
	}
	lastKey.Lock()
	if now := time.Now().UnixMilli(); now > lastKey.at {
		lastKey.at, lastKey.count = now, binary.BigEndian.Uint16(b[6:])&0x7ff
	} else if lastKey.count++; lastKey.count > 0xfff {
		lastKey.at, lastKey.count = lastKey.at+1, 0
	}
	at, count := lastKey.at, lastKey.count
	lastKey.Unlock()
	binary.BigEndian.PutUint16(b[0:], uint16(at>>32))
	binary.BigEndian.PutUint32(b[2:], uint32(at))
	binary.BigEndian.PutUint16(b[6:], 0x7000|count)
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
