//go:build linux

package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// channel is a way for two processes to meet: one side holds something under a name, the other looks for it.
type channel struct {
	// hold makes the thing and returns the way to remove it.
	hold func(name string) (func(), error)
	// meet finds the thing.
	meet func(name string) error
}

// channels maps the names of channels to their code.
func channels() map[string]channel {
	return map[string]channel{
		"abstract-stream": {listen("unix", "@"), dial("unix", "@")},
		"abstract-dgram":  {listenPacket("unixgram", "@"), dial("unixgram", "@")},
		"tcp-port":        {listenPort("tcp"), dialPort("tcp")},
		"udp-port":        {holdUDP, meetUDP},
		"sysv-shm":        {holdShm, func(n string) error { return sysv(unix.SYS_SHMGET, n, 4096, 0) }},
		"sysv-sem":        {holdSem, func(n string) error { return sysv(unix.SYS_SEMGET, n, 1, 0) }},
		"sysv-msg":        {holdMsg, func(n string) error { return sysv(unix.SYS_MSGGET, n, 0, 0) }},
		"posix-mq":        {holdQueue, meetQueue},
		"shm-file":        {holdFile("/dev/shm"), meetFile("/dev/shm")},
		"tmp-file":        {holdFile("/tmp"), meetFile("/tmp")},
		"keyring":         {holdKey, meetKey},
	}
}

// ipcAttempts meet a holder. args are the channel and the name.
func ipcAttempts() map[string]try {
	return map[string]try{
		"meet": func(args []string) (bool, string) {
			c, ok := channels()[arg(args, 0)]
			if !ok {
				return false, "no such channel"
			}
			return worked(c.meet(arg(args, 1)))
		},
		"keyring-join": func([]string) (bool, string) {
			_, err := unix.KeyctlJoinSessionKeyring("toolcell-escape")
			return worked(err)
		},
		"keyring-add": func([]string) (bool, string) {
			_, err := unix.AddKey("user", "toolcell-escape", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return worked(err)
		},
	}
}

// hold keeps a channel's thing until the standard input ends, and says when it is there.
func hold(args []string) {
	c, ok := channels()[arg(args, 0)]
	if !ok {
		os.Exit(2)
	}
	release, err := c.hold(arg(args, 1))
	if err != nil {
		fmt.Println("holding nothing:", err)
	} else {
		fmt.Println("holding")
		defer release()
	}
	wait()
}

func listen(network, prefix string) func(string) (func(), error) {
	return func(name string) (func(), error) {
		l, err := net.Listen(network, prefix+name)
		if err != nil {
			return nil, err
		}
		return func() { l.Close() }, nil
	}
}

func listenPacket(network, prefix string) func(string) (func(), error) {
	return func(name string) (func(), error) {
		l, err := net.ListenPacket(network, prefix+name)
		if err != nil {
			return nil, err
		}
		return func() { l.Close() }, nil
	}
}

func dial(network, prefix string) func(string) error {
	return func(name string) error {
		c, err := net.DialTimeout(network, prefix+name, 2*time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	}
}

// key turns a name into a number that both sides agree on.
func key(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name))
	return int(h.Sum32()&0x3fffffff) | 1
}

// port turns a name into a port of the loopback address, outside the range of ephemeral ones.
func port(name string) string { return fmt.Sprintf("127.0.0.1:%d", 20000+key(name)%8000) }

func listenPort(network string) func(string) (func(), error) {
	return func(name string) (func(), error) { return listen(network, "")(port(name)) }
}

func dialPort(network string) func(string) error {
	return func(name string) error { return dial(network, "")(port(name)) }
}

// holdUDP answers every datagram.
func holdUDP(name string) (func(), error) {
	l, err := net.ListenPacket("udp", port(name))
	if err != nil {
		return nil, err
	}
	go func() {
		buf := make([]byte, 16)
		for {
			n, from, err := l.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = l.WriteTo(buf[:n], from)
		}
	}()
	return func() { l.Close() }, nil
}

func meetUDP(name string) error {
	c, err := net.Dial("udp", port(name))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1))
	return err
}

// sysv makes one of the get calls.
func sysv(nr uintptr, name string, a, flags uintptr) error {
	var errno unix.Errno
	if nr == unix.SYS_MSGGET {
		_, _, errno = unix.Syscall(nr, uintptr(key(name)), flags, 0)
	} else {
		_, _, errno = unix.Syscall(nr, uintptr(key(name)), a, flags)
	}
	if errno != 0 {
		return errno
	}
	return nil
}

const create = unix.IPC_CREAT | unix.IPC_EXCL | 0o666

func holdShm(name string) (func(), error) {
	id, err := unix.SysvShmGet(key(name), 4096, create)
	if err != nil {
		return nil, err
	}
	return func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }, nil
}

func holdSem(name string) (func(), error) {
	id, _, errno := unix.Syscall(unix.SYS_SEMGET, uintptr(key(name)), 1, create)
	if errno != 0 {
		return nil, errno
	}
	return func() { _, _, _ = unix.Syscall6(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID, 0, 0, 0) }, nil
}

func holdMsg(name string) (func(), error) {
	id, _, errno := unix.Syscall(unix.SYS_MSGGET, uintptr(key(name)), create, 0)
	if errno != 0 {
		return nil, errno
	}
	return func() { _, _, _ = unix.Syscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0) }, nil
}

func openQueue(name string, flags int) (int, error) {
	b := append([]byte(name), 0)
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(&b[0])), uintptr(flags), 0o666, 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func holdQueue(name string) (func(), error) {
	if _, err := openQueue(name, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR); err != nil {
		return nil, err
	}
	return func() {
		b := append([]byte(name), 0)
		_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(&b[0])), 0, 0)
	}, nil
}

func meetQueue(name string) error {
	_, err := openQueue(name, unix.O_RDONLY)
	return err
}

func holdFile(dir string) func(string) (func(), error) {
	return func(name string) (func(), error) {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte("x"), 0o666); err != nil {
			return nil, err
		}
		return func() { os.Remove(p) }, nil
	}
}

func meetFile(dir string) func(string) error {
	return func(name string) error {
		_, err := os.ReadFile(filepath.Join(dir, name))
		return err
	}
}

func holdKey(name string) (func(), error) {
	id, err := unix.AddKey("user", name, []byte("x"), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		return nil, err
	}
	return func() { _, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0) }, nil
}

func meetKey(name string) error {
	id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", name, 0)
	if err == nil && id <= 0 {
		err = errors.New("no key")
	}
	return err
}
