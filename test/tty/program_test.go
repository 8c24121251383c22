package tty

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// beProgram is the first argument that makes this test binary the program that
// is watched: it uses every mode a terminal has.
const beProgram = "be-the-program"

// program draws the same screen each time, and goes on when a key is pressed:
//
//	key  does
//	p    tells which bytes a paste brought
//	m    leaves the alternate screen
//	q    ends with status 7
func program() int {
	before, err := term.MakeRaw(0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = term.Restore(0, before) }() // the terminal goes away with us
	w := bufio.NewWriter(os.Stdout)
	drawMain(w)
	drawAlternate(w)
	_ = w.Flush() // whoever watches sees it
	return serveKeys(w)
}

// drawMain is the screen under the alternate one.
func drawMain(w *bufio.Writer) {
	fmt.Fprint(w, "\x1b[2J\x1b[H")
	for i := range 40 {
		fmt.Fprintf(w, "\x1b[3%dmmain line %d\x1b[0m\r\n", i%8, i)
	}
}

// flood is more than any ring keeps: what is on the alternate screen cannot be
// had by replaying the last megabyte.
const flood = 3 << 19

// drawAlternate enters the alternate screen first, then writes the flood, and
// only then what stays.
func drawAlternate(w *bufio.Writer) {
	fmt.Fprint(w, "\x1b[?1049h\x1b[2J\x1b]2;every mode\a\x1b[?2004h\x1b[?1002h\x1b[?1006h\x1b[?1h\x1b=")
	for written := 0; written < flood; {
		n, _ := fmt.Fprintf(w, "\x1b[%d;%dHflood %x", written%height+1, written%40+1, written)
		written += n
	}
	fmt.Fprint(w, "\x1b[0m\x1b[2J\x1b[H")
	for i := range 16 {
		fmt.Fprintf(w, "\x1b[%d;1H\x1b[38;5;%dm\x1b[48;5;%dm colour %d \x1b[0m", i+1, i*15, 255-i*15, i)
	}
	fmt.Fprint(w, "\x1b[1;20H\x1b[1mbold\x1b[0m \x1b[4munder\x1b[0m \x1b[7mreverse\x1b[0m \x1b[3mitalic\x1b[0m \x1b[9mstruck\x1b[0m")
	fmt.Fprint(w, "\x1b[2;20H\x1b[38;2;200;100;50mtrue colour\x1b[0m \x1b[91mbright\x1b[0m")
	fmt.Fprint(w, "\x1b[3;20Hwide 漢字 combining e\u0301 box \x1b(0lqqk\x1b(B end")
	fmt.Fprintf(w, "\x1b[4;20H%s", strings.Repeat("x", width-19)) // up to the edge: the cursor waits there
	fmt.Fprint(w, "\x1b[10;25r\x1b[25;1Hscrolled\n\n\n")          // a region that has scrolled
	fmt.Fprint(w, "\x1b[20;30HREADY\x1b[6;8H")
}

func serveKeys(w *bufio.Writer) int {
	in := bufio.NewReader(os.Stdin)
	for {
		b, err := in.ReadByte()
		if err != nil {
			return 1
		}
		switch b {
		case 'p':
			pasted, _ := in.ReadString('~') // start of a paste
			text, _ := in.ReadString('~')   // and its end
			fmt.Fprintf(w, "\x1b[22;30H%q", pasted+text)
		case 'm':
			fmt.Fprint(w, "\x1b[r\x1b[?1049l\x1b[?2004l\x1b[?1002l\x1b[?1006l\x1b[?1l\x1b>\x1b[35mMAIN\x1b[0m")
		case 'q':
			fmt.Fprint(w, "\r\n")
			_ = w.Flush()
			return 7
		}
		_ = w.Flush() // see program
	}
}
