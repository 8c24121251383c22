package screen

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// chunk is as much as a reader of a PTY under load gets at once.
const chunk = 64 << 10

func repeatTo(n int, line func(i int) string) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		b.WriteString(line(i))
	}
	return b.Bytes()
}

func plainText() []byte {
	return repeatTo(4<<20, func(i int) string {
		return fmt.Sprintf("%08d The quick brown fox jumps over the lazy dog, again and again.\r\n", i)
	})
}

func colouredText() []byte {
	return repeatTo(4<<20, func(i int) string {
		return fmt.Sprintf("\x1b[%dm%08d\x1b[0m \x1b[1;38;5;%dmwarning:\x1b[m src/\x1b[38;2;%d;20;30mmain.go\x1b[39m:12 unused\r\n", 31+i%6, i, i%256, i%256)
	})
}

// editor is a full-screen program: rows drawn by address, regions scrolled.
func editor() []byte {
	return repeatTo(4<<20, func(i int) string {
		return fmt.Sprintf("\x1b[1;23r\x1b[23;1H\n\x1b[1;24r\x1b[23;1H\x1b[38;5;130m%4d \x1b[m\x1b[1mfunc\x1b[m name(\x1b[36marg int\x1b[m) { return \"text\" }\x1b[K\x1b[24;63H%d,1\x1b[11C%d%%\x1b[%d;6H", i, i, i%100, i%23+1)
	})
}

// sparse is the worst case: hardly a character between two sequences.
func sparse() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	return repeatTo(4<<20, func(int) string {
		return fmt.Sprintf("\x1b[%d;%dH\x1b[3%dm%c", r.IntN(24)+1, r.IntN(80)+1, r.IntN(8), 'a'+rune(r.IntN(26)))
	})
}

func unicodeText() []byte {
	return repeatTo(4<<20, func(i int) string {
		return fmt.Sprintf("%d ─── naïve 漢字かな 👍 Ελληνικά ───\r\n", i)
	})
}

func BenchmarkWrite(b *testing.B) {
	for _, c := range []struct {
		name string
		data []byte
		size int
	}{
		{"plain", plainText(), chunk},
		{"plain-4KiB", plainText(), 4 << 10}, // what the kernel's tty buffer gives
		{"plain-drawn", plainText(), 1 << 10},
		{"coloured", colouredText(), chunk},
		{"coloured-4KiB", colouredText(), 4 << 10},
		{"coloured-drawn", colouredText(), 1 << 10},
		{"unicode", unicodeText(), chunk},
		{"unicode-drawn", unicodeText(), 1 << 10},
		{"editor", editor(), chunk},
		{"sparse", sparse(), chunk},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := New(80, 24)
			b.SetBytes(int64(len(c.data)))
			b.ReportAllocs()
			for b.Loop() {
				for p := c.data; len(p) > 0; {
					n := min(c.size, len(p))
					s.Write(p[:n])
					p = p[n:]
				}
			}
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s := New(80, 24)
	s.Write(colouredText())
	b.ReportMetric(float64(len(s.Snapshot())), "bytes")
	for b.Loop() {
		s.Snapshot()
	}
}

func BenchmarkSanitize(b *testing.B) {
	data := colouredText()
	b.SetBytes(int64(len(data)))
	var z Sanitizer
	var dst []byte
	for b.Loop() {
		dst = z.Append(dst[:0], data)
	}
}

func TestMemoryOfAScreenPair(t *testing.T) {
	const n = 64
	var before, after runtime.MemStats
	screens := make([]*Screen, n)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range screens {
		screens[i] = New(80, 24)
		screens[i].Write([]byte("\x1b[?1049h" + "text"))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (after.HeapAlloc - before.HeapAlloc) / n
	runtime.KeepAlive(screens)
	t.Logf("%d bytes", each)
	if each > 100<<10 {
		t.Errorf("80x24 with both screens takes %d bytes, more than 100 KiB", each)
	}
}
