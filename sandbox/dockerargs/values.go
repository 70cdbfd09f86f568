package dockerargs

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// Hostname is the host name inside every sandbox.
const Hostname = "sandbox"

const (
	kib = 1 << 10
	mib = 1 << 20
)

// always is a switch for what holds in every sandbox; turning it off is refused.
func always(g sandbox.Guarantee) setter {
	return func(_ *state, spelled, value string) error {
		on, err := parseBool(spelled, value)
		if err == nil && !on {
			return refused(spelled, g, "it cannot be turned off", "leave it out")
		}
		return err
	}
}

// onlyTrue is a switch that does something when given and cannot be given as false.
func onlyTrue(fix string, do func(*state)) setter {
	return func(s *state, spelled, value string) error {
		on, err := parseBool(spelled, value)
		if err == nil && !on {
			return invalid(spelled, "it cannot be false", fix)
		}
		if err == nil {
			do(s)
		}
		return err
	}
}

// only takes one value, the one that every sandbox has anyway.
func only(want string, g sandbox.Guarantee) setter {
	return func(_ *state, spelled, value string) error {
		if value == want {
			return nil
		}
		cause := fmt.Sprintf("%q cannot be had", value)
		if g == "" {
			return invalid(spelled, cause, "use "+want+" or leave it out")
		}
		return refused(spelled, g, cause, "use "+want+" or leave it out")
	}
}

func text(field func(*state) *string) setter {
	return func(s *state, spelled, value string) error {
		if value == "" {
			return invalid(spelled, "the value is empty", "")
		}
		*field(s) = value
		return nil
	}
}

func parseBool(spelled, value string) (bool, error) {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return false, invalid(spelled, fmt.Sprintf("%q is neither true nor false", value), "write true or false, or the flag alone")
	}
	return on, nil
}

func setStdin(s *state, spelled, value string) (err error) {
	s.inv.Stdin, err = parseBool(spelled, value)
	return err
}

func setJSON(s *state, spelled, value string) (err error) {
	s.inv.JSON, err = parseBool(spelled, value)
	return err
}

// parseSize reads a number of bytes as engines do: digits and one of b, k, m, g, optionally followed by b or ib.
func parseSize(spelled, value string) (int64, error) {
	digits := strings.TrimRight(value, "bkmgiBKMGI")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || digits[0] < '0' || digits[0] > '9' {
		return 0, invalid(spelled, fmt.Sprintf("%q is no size", value), "write a whole number and b, k, m or g, like 512m")
	}
	var unit int64
	switch strings.ToLower(value[len(digits):]) {
	case "", "b":
		unit = 1
	case "k", "kb", "kib":
		unit = kib
	case "m", "mb", "mib":
		unit = mib
	case "g", "gb", "gib":
		unit = 1 << 30
	default:
		return 0, invalid(spelled, fmt.Sprintf("%q has an unknown unit", value), "use b, k, m or g")
	}
	if n > math.MaxInt64/unit {
		return 0, invalid(spelled, fmt.Sprintf("%q is too large", value), "")
	}
	return n * unit, nil
}

// parseUnits reads a size that is a whole, positive number of units.
func parseUnits(spelled, value string, unit int64) (int, error) {
	n, err := parseSize(spelled, value)
	if err != nil {
		return 0, err
	}
	if n == 0 || n%unit != 0 || n/unit > math.MaxInt32 {
		name, letter := "MiB", "m"
		if unit == kib {
			name, letter = "KiB", "k"
		}
		return 0, invalid(spelled, fmt.Sprintf("%q is not a whole, positive number of %s", value, name), sizeFix(value, n, letter))
	}
	return int(n / unit), nil
}

// sizeFix says what to write in place of a size, which most likely lacks its unit when it is small and has none.
func sizeFix(value string, n int64, letter string) string {
	if 0 < n && n < mib && strings.Trim(value, "0123456789") == "" {
		return "a number alone is bytes: write " + value + letter
	}
	return "write one like 64" + letter
}

// parseSeconds reads a duration ("90s", "2m"), or a plain number of seconds.
func parseSeconds(spelled, value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if n, nerr := strconv.ParseInt(value, 10, 32); nerr == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil {
		return 0, invalid(spelled, fmt.Sprintf("%q is no duration", value), "write one like 30s or 2m")
	}
	if d <= 0 {
		return 0, invalid(spelled, fmt.Sprintf("%q is not positive, and every call has a limit", value), "write one like 30s or 2m")
	}
	return d, nil
}

func setTimeout(s *state, spelled, value string) (err error) {
	s.inv.Profile.Limits.Wall, err = parseSeconds(spelled, value)
	return err
}

func setCPUTime(s *state, spelled, value string) error {
	d, err := parseSeconds(spelled, value)
	if err == nil && d%time.Second != 0 {
		return invalid(spelled, fmt.Sprintf("%q is not a whole number of seconds", value), "write one like 30s or 2m")
	}
	s.inv.Profile.Limits.CPUSeconds = int(d / time.Second)
	return err
}

func setOutput(s *state, spelled, value string) (err error) {
	s.inv.Profile.Limits.OutputKB, err = parseUnits(spelled, value, kib)
	return err
}

func setShm(s *state, spelled, value string) (err error) {
	s.inv.Profile.ShmMB, err = parseUnits(spelled, value, mib)
	return err
}

func setMemory(s *state, spelled, value string) (err error) {
	if isUnlimited(value) {
		return refused(spelled, sandbox.LimitMemory, "every call has a limit", "name a size like 512m")
	}
	s.inv.Profile.Limits.MemoryMB, err = parseUnits(spelled, value, mib)
	return err
}

func setSwap(s *state, spelled, value string) (err error) {
	if isUnlimited(value) {
		return refused(spelled, sandbox.LimitMemory, "it would allow swap", "give the same value as --memory")
	}
	s.swapMB, err = parseUnits(spelled, value, mib)
	return err
}

// isUnlimited reports whether an engine reads value as "no limit".
func isUnlimited(value string) bool { return value == "0" || value == "-1" }

func setCPUs(s *state, spelled, value string) error {
	if isUnlimited(value) {
		return refused(spelled, sandbox.LimitCPU, "every call has a limit", "name a number of cores like 1 or 0.5")
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || strings.Trim(value, "0123456789.") != "" || n == 0 {
		return invalid(spelled, fmt.Sprintf("%q is no number of cores", value), "write one like 1 or 0.5")
	}
	s.inv.Profile.Limits.CPUs = n
	return nil
}

func setPIDs(s *state, spelled, value string) error {
	if isUnlimited(value) {
		return refused(spelled, sandbox.LimitProcesses, "every call has a limit", "name a number like 128")
	}
	n, err := parseCount(value)
	if err != nil {
		return invalid(spelled, fmt.Sprintf("%q %v", value, err), "")
	}
	s.inv.Profile.PIDs = n
	return nil
}

func parseCount(value string) (int, error) {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil || n == 0 {
		return 0, errors.New("is no positive whole number")
	}
	return int(n), nil
}

func setUlimit(s *state, spelled, value string) error {
	name, limits, ok := strings.Cut(value, "=")
	soft, hard, both := strings.Cut(limits, ":")
	if !ok || both && soft != hard {
		return invalid(spelled, fmt.Sprintf("%q is not NAME=N or NAME=N:N with both the same", value), "write one like nofile=256")
	}
	op := spelled + " " + name
	l := &s.inv.Profile.Limits
	switch name {
	case "nofile":
		return setUlimitCount(op, soft, &l.OpenFiles)
	case "cpu":
		return setUlimitCount(op, soft, &l.CPUSeconds)
	case "fsize":
		if strings.Trim(soft, "0123456789") != "" {
			return invalid(op, fmt.Sprintf("%q is no number of bytes", soft), "write one like fsize=67108864, which is 64 MiB")
		}
		return setUlimitSize(op, soft, &l.FileSizeMB)
	case "core":
		if soft == "0" || soft == "1" {
			return nil
		}
		return refused(op, sandbox.LimitFiles, "core files are never written", "use core=0 or leave it out")
	case "nproc":
		return invalid(op, "it counts the processes of a whole user", "use --pids-limit N")
	default:
		return invalid(op, "this limit is not taken", "use nofile, fsize, cpu or core")
	}
}

// setUlimitSize reads bytes, which have no unit here.
func setUlimitSize(op, value string, field *int) error {
	n, err := parseUnits(op, value, mib)
	if err != nil {
		return invalid(op, fmt.Sprintf("%q is not a whole, positive number of MiB in bytes", value), "write one like fsize=67108864, which is 64 MiB")
	}
	*field = n
	return nil
}

func setUlimitCount(op, value string, field *int) error {
	n, err := parseCount(value)
	if err != nil {
		return invalid(op, fmt.Sprintf("%q %v", value, err), "")
	}
	*field = n
	return nil
}
