package docker

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// insideID is the user and group of a program whose caller is root, or has no ids.
const insideID = 65532

// user is who a program is inside.
type user struct {
	// image says that the image's own user stays; the ids are then not known.
	image bool
	// root says that the user may be root, which the operator has waived.
	root     bool
	uid, gid uint32
}

// flag is the value of --user, or "" for the image's own.
func (u user) flag() string {
	if u.image {
		return ""
	}
	return fmt.Sprintf("%d:%d", u.uid, u.gid)
}

// caller is who calls: its ids, or nothing where there are none.
type caller struct {
	uid, gid int
}

// thisCaller is this process's own.
func thisCaller() caller { return caller{uid: os.Geteuid(), gid: os.Getegid()} }

// ids are what "auto" means for this caller; never 0.
func (c caller) ids() (uid, gid uint32) {
	if c.uid <= 0 { // root, or -1: no ids here
		return insideID, insideID
	}
	if c.gid <= 0 {
		return uint32(c.uid), insideID
	}
	return uint32(c.uid), uint32(c.gid)
}

// user decides who the program of a profile is. img is the image's description.
func (b *Backend) user(p sandbox.ContainerProfile, img *image) (user, error) {
	spec, err := sandbox.ParseUser(p.User)
	if err != nil {
		return user{}, err
	}
	if spec.Auto && b.config.User == UserImage {
		return b.imageUser(img)
	}
	if spec.Auto {
		if spec, err = sandbox.ParseUser(b.config.User); err != nil {
			return user{}, err
		}
	}
	if spec.Auto {
		uid, gid := thisCaller().ids()
		return user{uid: uid, gid: gid}, nil
	}
	return user{uid: spec.UID, gid: spec.GID}, nil
}

// imageUser keeps the image's user when that is not root. A name is looked up by the engine, in the image; init refuses
// to start anything when it turns out to be root's.
func (b *Backend) imageUser(img *image) (user, error) {
	waived := b.waived(sandbox.PrivNonroot)
	name, group, _ := strings.Cut(img.Config.User, ":")
	if isRoot(name) && !waived {
		return user{}, rootError(fmt.Errorf("the image's user is %q, which is root", img.Config.User))
	}
	if group == "0" && !waived {
		return user{}, rootError(fmt.Errorf("the image's user is %q, whose group is root's", img.Config.User))
	}
	return user{image: true, root: waived}, nil
}

func isRoot(name string) bool { return name == "" || name == "root" || strings.Trim(name, "0") == "" }

func rootError(cause error) error {
	return &sandbox.Error{
		Kind: sandbox.KindRefused, Op: "choose the user", Guarantee: sandbox.PrivNonroot, Cause: cause,
		Fix: `use the user "auto" or uid:gid, or an image with an unprivileged user`,
	}
}

// checkConfigUser refuses a configured user that cannot be meant.
func checkConfigUser(s string) error {
	if s == UserImage {
		return nil
	}
	if _, err := sandbox.ParseUser(s); err != nil {
		var typed *sandbox.Error
		if errors.As(err, &typed) {
			return &sandbox.Error{Kind: sandbox.KindInvalid, Op: "the backend's user", Cause: typed.Cause, Fix: `use "auto", "image" or uid:gid`}
		}
		return err
	}
	return nil
}
