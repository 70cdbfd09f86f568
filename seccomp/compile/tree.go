//go:build libseccomp

package main

import (
	"fmt"
	"io"
	"os"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/seccomp/internal/bpf"
)

// binaryTree is libseccomp's SCMP_FLTATR_CTL_OPTIMIZE level that searches instead of comparing one by one.
const binaryTree = 2

// tree has libseccomp lay out the rules as a search tree that allows what no rule names. It starts with the system
// call number loaded and known to be of the table.
//
// libseccomp translates numbers for every architecture but the one it runs on, and fails on those it does not know.
// So the tree is always made for the native architecture, whatever the numbers mean; the tree itself only compares
// them. What libseccomp puts in front of it (architecture, x32) is cut off: see prologue.
func tree(rules []rule) ([]bpf.Insn, error) {
	f, err := libseccomp.NewFilter(libseccomp.ActAllow)
	if err != nil {
		return nil, fmt.Errorf("new filter: %w", err)
	}
	defer f.Release()
	if err := f.SetOptimize(binaryTree); err != nil {
		return nil, fmt.Errorf("ask for a tree: %w", err)
	}
	for _, r := range rules {
		if err := f.AddRuleExact(libseccomp.ScmpSyscall(r.nr), action(r.verdict)); err != nil {
			return nil, fmt.Errorf("add number %d: %w", r.nr, err)
		}
	}
	prog, err := export(f)
	if err != nil {
		return nil, err
	}
	return cut(prog)
}

// action is the verdict as libseccomp wants it.
func action(verdict uint32) libseccomp.ScmpAction {
	data := int16(verdict & bpf.DataMask)
	if verdict&bpf.ActionMask == bpf.Trace {
		return libseccomp.ActTrace.SetReturnCode(data)
	}
	return libseccomp.ActErrno.SetReturnCode(data)
}

// export goes through a memfd: a pipe would block on a program larger than its buffer, and libseccomp below 2.6
// cannot write to memory.
func export(f *libseccomp.ScmpFilter) ([]bpf.Insn, error) {
	fd, err := unix.MemfdCreate("filter", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), "filter")
	defer file.Close()
	if err := f.ExportBPF(file); err != nil {
		return nil, fmt.Errorf("export filter: %w", err)
	}
	raw, err := io.ReadAll(io.NewSectionReader(file, 0, bpf.MaxLen*bpf.Size+1))
	if err != nil {
		return nil, fmt.Errorf("read exported filter: %w", err)
	}
	return bpf.Decode(raw)
}

// cut removes libseccomp's prologue and the return that only the prologue jumps to. Jumps are relative and go
// forward, so the rest keeps its meaning.
func cut(prog []bpf.Insn) ([]bpf.Insn, error) {
	start := 0
	for pc, in := range prog {
		if in.Op == bpf.Load && in.K == bpf.OffNr {
			start = pc + 1
			break
		}
	}
	if start == 0 {
		return nil, fmt.Errorf("cut the prologue: the number is never loaded")
	}
	for start < len(prog) && prog[start].K >= x32Start && prog[start].Op != bpf.Ret {
		start++
	}
	return trim(prog[start:]), nil
}

// x32Start is above every number of a table: comparisons with it belong to the x32 check.
const x32Start = 0x40000000

// trim drops instructions at the end that nothing reaches.
func trim(prog []bpf.Insn) []bpf.Insn {
	reached := make([]bool, len(prog))
	reached[0] = true
	end := 0
	for pc, in := range prog {
		if !reached[pc] {
			continue
		}
		end = pc + 1
		for _, t := range in.Targets(pc) {
			reached[t] = true
		}
	}
	return prog[:end]
}
