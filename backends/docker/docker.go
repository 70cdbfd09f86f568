package docker

import (
	"io"
	"log/slog"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// Name is the backend's name, and that of its usual engine.
const Name = "docker"

// DefaultImage is the image of a profile that names none.
const DefaultImage = "python:3.12-slim"

// UserImage as Config.User keeps the image's own user.
const UserImage = "image"

// Config configures the backend. The zero value is right for most programs on Linux.
type Config struct {
	// Binary is the engine's command: a name that is looked up in PATH, or an absolute path. "" means "docker". Which
	// dialect it speaks is found out by asking it.
	Binary string
	// Helper is the path of a static Linux program for the engine's architecture that calls helper.Main first thing. ""
	// means: toolcell-init beside the executable, if there is one, else on Linux this very program, when it has called
	// helper.Main. It has to be on the machine that the engine runs on.
	Helper string
	// Image is what a profile without one gets. "" means DefaultImage.
	Image string
	// User is what a profile's "auto" means: "" or "auto" for the caller's own ids (65532:65532 for root and where there are
	// none), "image" for the image's own user, or "uid:gid".
	User string
	// Runtime is the engine's runtime of a profile that names none. "" means the engine's default.
	Runtime string
	// Networks lists the engine's networks that the operator grants to profiles that name one. "host" is never granted.
	Networks []string
	// ProbeTimeout bounds each question about the engine and its images. 0 means 5 s; a slow machine needs more.
	ProbeTimeout time.Duration
	// Protected lists host paths that no mount may show, such as the gateway's configuration.
	Protected []string
	// Waivers lists the guarantees that the operator agreed to run without.
	Waivers []sandbox.Waiver
	// StateDir is where a directory with the containers' small files is made: the engine has to be able to mount from it.
	// "" means the system's directory for temporary files on Linux, the user's cache directory elsewhere.
	StateDir string
	// Progress receives what the engine says while Prepare fetches an image. nil means nobody. A terminal gets bars.
	Progress io.Writer
	// Client runs the engine's command. nil means os/exec.
	Client Client
	// Logger receives what operators should know. nil means silence.
	Logger *slog.Logger
}
