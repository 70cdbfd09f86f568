package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// The labels of every container of this module.
const (
	// labelHost is the machine, and the namespace of process ids, that the caller is on.
	labelHost = "toolcell.host"
	// labelOwner is the caller: boot id, process id and start time.
	labelOwner = "toolcell.owner"
	// labelInstance is the backend that made it.
	labelInstance = "toolcell.instance"
)

// owner is this process, as labels say it.
type owner struct {
	host, boot, start, instance string
	pid                         int
}

func newOwner() owner {
	pid := os.Getpid()
	start, _ := startTime(pid) // "" on systems that do not tell
	return owner{host: hostID(), boot: bootID(), pid: pid, start: start, instance: strings.ToLower(rand.Text()[:12])}
}

func (o owner) labels() []string {
	return []string{
		labelHost + "=" + o.host,
		labelOwner + "=" + strings.Join([]string{o.boot, strconv.Itoa(o.pid), o.start}, "/"),
		labelInstance + "=" + o.instance,
	}
}

// dead reports whether the process that a label names has certainly ended. What cannot be read names nobody.
func (o owner) dead(label string) bool {
	parts := strings.Split(label, "/")
	if len(parts) != 3 || o.start == "" {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 || parts[2] == "" {
		return false
	}
	if parts[0] != o.boot {
		return parts[0] != "" && o.boot != ""
	}
	start, known := startTime(pid)
	return known && start != parts[2]
}

// sweepTimeout bounds the whole sweep.
const sweepTimeout = 30 * time.Second

// sweep removes the containers of callers of this machine that are dead. Nothing waits for it; what it cannot do, the
// next one can.
func (b *Backend) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	orphans, err := b.orphans(ctx)
	if err == nil && len(orphans) > 0 {
		b.log.Warn("containers of a dead caller are removed", "containers", orphans)
		_, err = output(ctx, b.client, append([]string{"rm", "-f", "-v"}, orphans...)...)
	}
	if err != nil && ctx.Err() == nil {
		b.log.Warn("the sweep for containers of dead callers failed", "error", err)
	}
}

// orphans are the ids of the containers whose labels name this machine and a dead process.
func (b *Backend) orphans(ctx context.Context) ([]string, error) {
	out, err := output(ctx, b.client, "ps", "-a", "-q", "--no-trunc", "--filter", "label="+labelHost+"="+b.owner.host)
	ids := strings.Fields(string(out))
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	// A container that ended meanwhile makes the command fail, and the others are told all the same.
	out, inspectErr := output(ctx, b.client, append([]string{"container", "inspect"}, ids...)...)
	var found []struct {
		ID     string `json:"Id"`
		Config struct{ Labels map[string]string }
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("inspect: %w", cmp.Or(inspectErr, err))
	}
	var orphans []string
	for _, c := range found {
		l := c.Config.Labels
		if l[labelHost] == b.owner.host && b.owner.dead(l[labelOwner]) {
			orphans = append(orphans, c.ID)
		}
	}
	return orphans, nil
}
