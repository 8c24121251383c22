package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/coop-dev/coop/api"
)

// progress shows how an image comes: bars that are drawn over on a terminal,
// elsewhere one line for each layer that is done, and with -q nothing.
type progress struct {
	out    io.Writer
	bars   bool
	quiet  bool
	width  int
	height int
	drawn  int // lines on the screen that are ours
	last   time.Time
	order  []string
	layers map[string]api.ImageEvent
}

// redraw is how often the bars are drawn anew at most.
const redraw = 60 * time.Millisecond

func (a *app) newProgress(what string) *progress {
	p := &progress{out: a.streams.Err, quiet: a.flags.quiet || a.flags.json, layers: map[string]api.ImageEvent{}}
	if p.quiet {
		return p
	}
	a.message("%s", what)
	if f, ok := a.streams.Err.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w >= 40 && h >= 5 {
			p.bars, p.width, p.height = true, w, h
		}
	}
	return p
}

func (p *progress) event(e api.ImageEvent) {
	if p.quiet || e.Layer == "" {
		return
	}
	before, known := p.layers[e.Layer]
	if !known {
		p.order = append(p.order, e.Layer)
	}
	p.layers[e.Layer] = e
	switch {
	case p.bars:
		if changed := !known || before.Status != e.Status; changed || time.Since(p.last) >= redraw {
			p.draw()
		}
	case e.Status == "done" || e.Status == "here":
		p.line(e)
	}
}

// line tells of a layer that is done. There is nowhere to tell that it failed.
func (p *progress) line(e api.ImageEvent) {
	_, _ = fmt.Fprintf(p.out, "coop: layer %s %s: %s\n", escape(shortDigest(e.Layer)), bytesShown(e.Total), escape(e.Status))
}

// draw writes all bars in one go, over those from before. Of more layers than
// the screen has lines the finished ones are left out first.
func (p *progress) draw() {
	p.last = time.Now()
	shown := p.visible()
	var b bytes.Buffer
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	for _, layer := range shown {
		b.WriteString("\r\x1b[K" + p.bar(p.layers[layer]) + "\n")
	}
	b.WriteString("\x1b[J")
	p.drawn = len(shown)
	_, _ = p.out.Write(b.Bytes()) // nowhere to tell
}

func (p *progress) visible() []string {
	most := p.height - 2
	if len(p.order) <= most {
		return p.order
	}
	var shown []string
	for _, layer := range p.order {
		if s := p.layers[layer].Status; s == "downloading" || s == "unpacking" {
			shown = append(shown, layer)
		}
	}
	return shown[:min(len(shown), most)]
}

// bar is one line no wider than the screen.
func (p *progress) bar(e api.ImageEvent) string {
	const fixed = 12 + 1 + 2 + 1 + 11 + 1 + 19
	room := max(4, min(40, p.width-fixed-1))
	full := 0
	switch {
	case e.Status == "done" || e.Status == "here" || e.Status == "unpacking":
		full = room
	case e.Total > 0:
		full = int(float64(room) * float64(min(e.Done, e.Total)) / float64(e.Total))
	}
	line := fmt.Sprintf("%-12s [%s%s] %-11s %s", escape(shortDigest(e.Layer)),
		strings.Repeat("=", full), strings.Repeat(" ", room-full), escape(e.Status), p.amount(e))
	return line[:min(len(line), p.width-1)]
}

func (p *progress) amount(e api.ImageEvent) string {
	if e.Status == "downloading" {
		return bytesShown(e.Done) + "/" + bytesShown(e.Total)
	}
	return bytesShown(e.Total)
}

// finish leaves the last state on the screen.
func (p *progress) finish() {
	if p.bars && len(p.order) > 0 {
		p.draw()
	}
}
