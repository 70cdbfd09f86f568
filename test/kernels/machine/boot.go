package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/soulacy/toolcell/test/kernels/report"
)

// emulator is the program that runs machines.
const emulator = "qemu-system-x86_64"

// serial of the disk with the programs; files/start looks for it.
const programsSerial = "programs"

const memoryMiB = 2048

// Machine is what boots.
type Machine struct {
	// Kernel and Root are paths of a kernel's image and of a root's disk.
	Kernel, Root string
	// Programs is a directory whose content the machine finds at /toolcell.
	Programs string
	// Dir is where the machine's own files are made. They are removed when it has ended, but the console's.
	Dir string
}

// Console is where the machine's console is written.
func (m Machine) Console() string { return filepath.Join(m.Dir, "console.log") }

// Run boots the machine, gives it a job, and returns what it told of it until it switched itself off, and how much CPU time
// the emulator used. The error says that the machine did not come to the end of its job.
func (m Machine) Run(ctx context.Context, job report.Job) (events []report.Event, used time.Duration, err error) {
	text, err := json.Marshal(job)
	if err != nil {
		return nil, 0, err
	}
	if err := os.WriteFile(filepath.Join(m.Programs, "job.json"), text, 0o644); err != nil {
		return nil, 0, err
	}
	disk, results := filepath.Join(m.Dir, "programs.img"), filepath.Join(m.Dir, "results")
	defer os.Remove(disk)
	defer os.Remove(results)
	if err := m.format(ctx, disk); err != nil {
		return nil, 0, err
	}
	cmd := exec.CommandContext(ctx, emulator, m.arguments(disk, results)...)
	out, runErr := cmd.CombinedOutput()
	if runErr != nil {
		runErr = fmt.Errorf("%s: %w: %s", emulator, runErr, lastLines(string(out)))
	}
	if cmd.ProcessState != nil {
		used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	events, err = read(results)
	return events, used, errors.Join(err, runErr)
}

// format makes the disk with the programs, large enough for them.
func (m Machine) format(ctx context.Context, disk string) error {
	var size int64
	err := filepath.WalkDir(m.Programs, func(_ string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		size += info.Size()
		return err
	})
	if err != nil {
		return err
	}
	return format(ctx, disk, m.Programs, int(size/mib)*5/4+16, 0)
}

func (m Machine) arguments(disk, results string) []string {
	drive := func(id, file, option string) string {
		return fmt.Sprintf("id=%s,file=%s,format=raw,if=none,%s", id, file, option)
	}
	return []string{
		"-machine", "q35", "-accel", "tcg,thread=single", "-cpu", "max,-cx16", "-smp", "2", "-m", fmt.Sprint(memoryMiB),
		"-nodefaults", "-no-reboot", "-display", "none", "-serial", "file:" + m.Console(), "-serial", "file:" + results,
		"-drive", drive("root", m.Root, "snapshot=on"), "-device", "nvme,drive=root,serial=root",
		"-drive", drive("programs", disk, "read-only=on"), "-device", "nvme,drive=programs,serial=" + programsSerial,
		"-kernel", m.Kernel, "-append", "root=" + rootPart + " rootwait rootfstype=ext4 rw console=ttyS0 panic=-1 quiet mitigations=off no5lvl init=/start -- /lib/systemd/systemd",
	}
}

// read reads the events that a machine wrote. The last has to be that it was done.
func read(results string) ([]report.Event, error) {
	f, err := os.Open(results)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var events []report.Event
	for d := json.NewDecoder(f); ; {
		var e report.Event
		err := d.Decode(&e)
		if errors.Is(err, io.EOF) {
			return events, errors.New("the machine ended before its job")
		}
		if err != nil {
			return events, fmt.Errorf("read results: %w", err)
		}
		if e.Done {
			return events, nil
		}
		events = append(events, e)
	}
}
