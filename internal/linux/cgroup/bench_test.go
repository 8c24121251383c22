package cgroup

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"
)

// BenchmarkCreateRemove is on the path of every sandbox's creation.
func BenchmarkCreateRemove(b *testing.B) {
	for name, l := range map[string]Limits{"none": {}, "pids": {PIDs: 100}, "all": {PIDs: 100, CPU: 1, MemoryBytes: 1 << 30}} {
		b.Run(name, func(b *testing.B) {
			p := testParent(b, nil)
			for i := 0; b.Loop(); i++ {
				g, err := p.Create(fmt.Sprintf("b%d", i), l)
				if err != nil {
					b.Fatal(err)
				}
				if err := g.Remove(b.Context()); err != nil {
					b.Fatal(err)
				}
				_ = g.Close()
			}
		})
	}
}

// BenchmarkStart shows what groups add to fork, exec and wait of a small program.
func BenchmarkStart(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, l := range map[string]Limits{"none": {}, "pids": {PIDs: 100}, "all": {PIDs: 100, CPU: 1, MemoryBytes: 1 << 30}} {
		b.Run(name, func(b *testing.B) {
			p := testParent(b, nil)
			for i := 0; b.Loop(); i++ {
				startIn(b, p, fmt.Sprintf("b%d", i), l)
			}
		})
	}
}

func startIn(b *testing.B, p *Parent, id string, l Limits) {
	g, err := p.Create(id, l)
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	cmd := exec.Command("/bin/sh", "-c", "read x")
	dir, _ := g.CloneFD()
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.Start(g, cmd.Start); err != nil {
		b.Fatal(err)
	}
	_ = stdin.Close()
	_ = cmd.Wait()
	if err := g.Remove(b.Context()); err != nil {
		b.Fatal(err)
	}
}
