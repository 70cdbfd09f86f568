package native

import (
	"sync"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// placesLife is how long the host's places are taken for what they were: a home directory or a control socket that comes
// up meanwhile is noticed that late, as one is that comes up right after a call's check. What stands ready has them looked at
// more often, so that its calls need not.
const placesLife = inspectPause + time.Second

// placesCache keeps the places that mounts are checked against.
type placesCache struct {
	mu     sync.Mutex
	places *sandbox.Places
	at     time.Time
}

func (c *placesCache) get() *sandbox.Places {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.places == nil || time.Since(c.at) > placesLife {
		c.at, c.places = time.Now(), sandbox.LookAtPlaces()
	}
	return c.places
}

// renew looks again, without keeping calls waiting.
func (c *placesCache) renew() {
	at, places := time.Now(), sandbox.LookAtPlaces()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.places = at, places
}
