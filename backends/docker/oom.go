package docker

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// killedStatus is an engine's exit status for a container whose first process SIGKILL ended.
const killedStatus = 128 + 9

// outOfMemory finds out why a container's first process was killed: nobody inside can, so it was the kernel, for the
// container's memory, or somebody with the rights to. before is what memoryKills said when the container was started.
func (b *Backend) outOfMemory(ctx context.Context, k *call, since time.Time, before int64) bool {
	if b.dialect == dialectDocker && b.sawOOM(ctx, k.box.name, since) {
		return true
	}
	// Docker may have looked too late, and other engines tell nothing of a container that is gone. The kernel's own count is
	// that of the whole machine: another container's end at the same time is taken for this one's.
	return k.engine.local && before >= 0 && memoryKills() > before
}

// sawOOM asks docker, which remembers events for a while, whether the kernel killed something in a container for memory.
func (b *Backend) sawOOM(ctx context.Context, name string, since time.Time) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	stamp := func(t time.Time) string { return fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond()) }
	out, err := output(ctx, b.client, "events", "--since", stamp(since), "--until", stamp(time.Now()),
		"--filter", "container="+name, "--filter", "event=oom", "--format", "{{json .}}")
	return err == nil && len(strings.TrimSpace(string(out))) > 0
}
