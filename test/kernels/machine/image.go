package machine

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
)

// mib is the size of a mebibyte, and where the one partition of a disk begins.
const mib = 1 << 20

// rootPart is how the kernel's command line names the root: the disk's id and the partition (block/partitions/msdos.c).
// The names of devices depend on who is found first.
const rootPart = "PARTUUID=746f6f6c-01"

const diskID = 0x746f6f6c

// partitioned makes a disk with one partition that holds what is in dir.
func partitioned(ctx context.Context, at, dir string, size int) error {
	if err := format(ctx, at, dir, size, 1); err != nil {
		return err
	}
	f, err := os.OpenFile(at, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(partitionTable(size), 0); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// partitionTable is a master boot record with one partition of so many MiB at the first MiB.
func partitionTable(size int) []byte {
	const sector, linux = 512, 0x83
	b := make([]byte, sector)
	binary.LittleEndian.PutUint32(b[440:], diskID)
	b[446+4] = linux
	binary.LittleEndian.PutUint32(b[446+8:], mib/sector)
	binary.LittleEndian.PutUint32(b[446+12:], uint32(size)*(mib/sector))
	b[510], b[511] = 0x55, 0xaa
	return b
}

// format makes an ext4 file system of so many MiB of what is in dir, behind so many MiB that are left alone.
func format(ctx context.Context, at, dir string, size, before int) error {
	f, err := os.Create(at)
	if err != nil {
		return err
	}
	if err := f.Truncate(int64(before+size) * mib); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	_, err = output(ctx, "mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-E", fmt.Sprintf("offset=%d", before*mib), "-d", dir, at, fmt.Sprintf("%dM", size))
	return err
}
