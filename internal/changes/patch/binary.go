package patch

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
)

// digits of git's base 85.
const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// perLine is how many bytes one line of a binary patch carries.
const perLine = 52

// appendBinary writes both contents whole: forward, then for git apply -R.
func appendBinary(b, old, new []byte) []byte {
	b = append(b, "GIT binary patch\n"...)
	return appendLiteral(appendLiteral(b, new), old)
}

func appendLiteral(b, content []byte) []byte {
	b = fmt.Appendf(b, "literal %d\n", len(content))
	for packed := deflate(content); len(packed) > 0; {
		n := min(perLine, len(packed))
		b = append(b, lengthDigit(n))
		b = append(append85(b, packed[:n]), '\n')
		packed = packed[n:]
	}
	return append(b, '\n')
}

func lengthDigit(n int) byte {
	if n <= 26 {
		return byte('A' + n - 1)
	}
	return byte('a' + n - 27)
}

func deflate(content []byte) []byte {
	var buf bytes.Buffer
	w := zlib.NewWriter(&buf)
	_, _ = w.Write(content) // a bytes.Buffer takes everything
	_ = w.Close()
	return buf.Bytes()
}

// append85 writes four bytes as five digits; the last group is padded with zeros.
func append85(b, data []byte) []byte {
	for len(data) > 0 {
		var group [4]byte
		n := copy(group[:], data)
		data = data[n:]
		v := binary.BigEndian.Uint32(group[:])
		var out [5]byte
		for i := 4; i >= 0; i-- {
			out[i] = digits[v%85]
			v /= 85
		}
		b = append(b, out[:]...)
	}
	return b
}
