package sandbox

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The zero value grants nothing that has to be granted, and its defaults are no wider.
func TestZeroProfileDenies(t *testing.T) {
	var p ContainerProfile
	require.NoError(t, p.Validate())
	d := p.WithDefaults()
	require.NoError(t, d.Validate())
	assert.Equal(t, ContainerProfile{
		Network: "none", PIDs: 128, TmpfsMB: 64, ShmMB: 64, User: "auto", Workdir: "/tmp",
		Limits: Limits{MemoryMB: 512, CPUs: 1, CPUSeconds: 30, Wall: time.Minute, OpenFiles: 256, FileSizeMB: 64, OutputKB: 1024},
	}, d)
	assert.False(t, d.ScratchExec)
	assert.False(t, d.Inotify)
	all, err := d.AllMounts()
	require.NoError(t, err)
	assert.Empty(t, all)
	u, err := ParseUser(d.User)
	require.NoError(t, err)
	assert.True(t, u.Auto)
	assert.False(t, Mount{}.Writable || Mount{}.Exec || Mount{}.Recursive)
}

func TestWithDefaults(t *testing.T) {
	set := ContainerProfile{
		Image: "i", Network: "n", PIDs: 1, TmpfsMB: 2, ShmMB: 3, ScratchExec: true, User: "1:2", Workdir: "/w", Mounts: []string{"/a:/b"},
		Binds: []Mount{{Source: "/c", Target: "/d"}}, Env: []string{"A=1"}, Interpreters: []string{"/p"}, Runtime: "r", Inotify: true, Require: []Guarantee{NetNone},
		Limits: Limits{MemoryMB: 4, CPUs: 0.5, CPUSeconds: 6, Wall: 7, OpenFiles: 8, FileSizeMB: 9, OutputKB: 10},
	}
	got := set.WithDefaults()
	assert.Equal(t, set, got, "what is set stays")
	assert.Equal(t, got, got.WithDefaults())
	got.Mounts[0], got.Env[0], got.Binds[0].Source, got.Interpreters[0], got.Require[0] = "x", "x", "x", "x", "x"
	assert.Equal(t, []any{"/a:/b", "A=1", "/c", "/p", NetNone}, []any{set.Mounts[0], set.Env[0], set.Binds[0].Source, set.Interpreters[0], set.Require[0]}, "the copy shares nothing")
}

func TestProfileValidateRefuses(t *testing.T) {
	for name, p := range map[string]ContainerProfile{
		"negative memory":      {Limits: Limits{MemoryMB: -1}},
		"memory for nothing":   {Limits: Limits{MemoryMB: MinMemoryMB - 1}},
		"absurd memory":        {Limits: Limits{MemoryMB: 1<<30 + 1}},
		"negative CPUs":        {Limits: Limits{CPUs: -1}},
		"too few CPUs":         {Limits: Limits{CPUs: 0.001}},
		"absurd CPUs":          {Limits: Limits{CPUs: 1 << 17}},
		"infinite CPUs":        {Limits: Limits{CPUs: math.Inf(1)}},
		"CPUs not a number":    {Limits: Limits{CPUs: math.NaN()}},
		"negative CPU time":    {Limits: Limits{CPUSeconds: -1}},
		"negative wall":        {Limits: Limits{Wall: -1}},
		"endless wall":         {Limits: Limits{Wall: 367 * 24 * time.Hour}},
		"negative files":       {Limits: Limits{OpenFiles: -1}},
		"too few files":        {Limits: Limits{OpenFiles: 7}},
		"absurd files":         {Limits: Limits{OpenFiles: 1<<20 + 1}},
		"negative file size":   {Limits: Limits{FileSizeMB: -1}},
		"negative output":      {Limits: Limits{OutputKB: -1}},
		"absurd output":        {Limits: Limits{OutputKB: 1<<20 + 1}},
		"negative processes":   {PIDs: -1},
		"absurd processes":     {PIDs: 1<<22 + 1},
		"negative scratch":     {TmpfsMB: -1},
		"negative shm":         {ShmMB: -1},
		"root":                 {User: "0:0"},
		"relative directory":   {Workdir: "tmp"},
		"directory in proc":    {Workdir: "/proc/self/fd/7"},
		"environment":          {Env: []string{"A"}},
		"large environment":    {Env: []string{"A=" + strings.Repeat("a", MaxArg)}},
		"many variables":       {Env: slices.Repeat([]string{"A=" + strings.Repeat("a", MaxArg/2)}, 2*MaxEnvironment/MaxArg)},
		"unknown guarantee":    {Require: []Guarantee{"fs.everything"}},
		"empty guarantee":      {Require: []Guarantee{""}},
		"mount":                {Mounts: []string{"relative:/x"}},
		"bind":                 {Binds: []Mount{{Source: "/proc", Target: "/x"}}},
		"network as an option": {Network: "--privileged"},
		"network with a space": {Network: "a b"},
		"another's network":    {Network: "container:x"},
		"image as an option":   {Image: "--privileged"},
		"image with a newline": {Image: "a\nb"},
		"endless image":        {Image: strings.Repeat("a", 513)},
		"runtime as an option": {Runtime: "-x"},
		"interpreter":          {Interpreters: []string{""}},
		"interpreter with NUL": {Interpreters: []string{"/a\x00"}},
	} {
		err := p.Validate()
		require.ErrorIs(t, err, ErrInvalid, name)
		assert.NotContains(t, err.Error(), "\n", name)
	}
}

func TestProfileValidate(t *testing.T) {
	for name, p := range map[string]ContainerProfile{
		"least":      {Limits: Limits{MemoryMB: MinMemoryMB, CPUs: 0.01, CPUSeconds: 1, Wall: 1, OpenFiles: 8, FileSizeMB: 1, OutputKB: 1}, PIDs: 1, TmpfsMB: 1, ShmMB: 1},
		"most":       {Limits: Limits{MemoryMB: 1 << 30, CPUs: 1 << 16, CPUSeconds: 1 << 30, Wall: 366 * 24 * time.Hour, OpenFiles: 1 << 20, FileSizeMB: 1 << 30, OutputKB: 1 << 20}, PIDs: 1 << 22},
		"image":      {Image: "registry.example:5000/a/b:1@sha256:0123", Network: "my_net-1", Runtime: "runsc"},
		"guarantees": {Require: Guarantees()},
		"user":       {User: "1000:100"},
	} {
		assert.NoError(t, p.Validate(), name)
	}
}

func TestParseUser(t *testing.T) {
	for in, want := range map[string]UserSpec{
		"": {Auto: true}, "auto": {Auto: true}, "1:1": {UID: 1, GID: 1}, "1000:100": {UID: 1000, GID: 100}, "2147483647:65534": {UID: 2147483647, GID: 65534},
	} {
		got, err := ParseUser(in)
		require.NoError(t, err, in)
		assert.Equal(t, want, got)
	}
	for _, in := range []string{
		"0", "0:0", "0:1", "1:0", "1", ":", "1:", ":1", "root", "root:root", "1:1:1", "-1:1", "+1:1", "1:-1", "01:1", "1:01", " 1:1", "1:1 ", "1 :1",
		"2147483648:1", "4294967296:1", "18446744073709551617:1", "1.0:1", "0x1:1", "1e3:1", "١:1", "AUTO", "image", "1\x00:1", strings.Repeat("9", 500) + ":1",
	} {
		_, err := ParseUser(in)
		require.ErrorIs(t, err, ErrInvalid, "%q", in)
		assert.Less(t, len(err.Error()), 500)
	}
	_, err := ParseUser("1000")
	assert.ErrorContains(t, err, "(write 1000:1000)")
}

func FuzzParseUser(f *testing.F) {
	for _, s := range []string{"", "auto", "1:1", "0:0", "root", "4294967296:1", "-1:-1", "1:1\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseUser(s)
		switch {
		case err != nil:
			assert.ErrorIs(t, err, ErrInvalid)
		case u.Auto:
			assert.Contains(t, []string{"", UserAuto}, s)
		default:
			assert.NotZero(t, u.UID)
			assert.NotZero(t, u.GID)
			assert.Equal(t, s, strconv.Itoa(int(u.UID))+":"+strconv.Itoa(int(u.GID)))
		}
	})
}
