package netguard

import (
	"encoding/binary"
	"net/netip"
)

// block is a range that is not the public Internet.
type block struct{ prefix, why string }

// blocks returns the ranges of the IANA special-purpose registries (RFC 6890 and its updates) that are not globally
// reachable, multicast and what is reserved, and the addresses at which clouds tell a machine its secrets.
func blocks() []block {
	return []block{
		{"169.254.169.254/32", "a cloud's metadata service"}, {"169.254.170.2/32", "a cloud's metadata service"},
		{"fd00:ec2::/32", "a cloud's metadata service"}, {"100.100.100.200/32", "a cloud's metadata service"},
		{"168.63.129.16/32", "a cloud's metadata service"}, {"fd20:ce::254/128", "a cloud's metadata service"},
		{"0.0.0.0/8", "this network"}, {"10.0.0.0/8", "private"}, {"100.64.0.0/10", "shared address space"},
		{"127.0.0.0/8", "loopback"}, {"169.254.0.0/16", "link-local"}, {"172.16.0.0/12", "private"},
		{"192.0.0.0/24", "reserved"}, {"192.0.2.0/24", "documentation"}, {"192.31.196.0/24", "reserved"},
		{"192.52.193.0/24", "reserved"}, {"192.88.99.0/24", "reserved"}, {"192.168.0.0/16", "private"},
		{"192.175.48.0/24", "reserved"}, {"198.18.0.0/15", "benchmarking"}, {"198.51.100.0/24", "documentation"},
		{"203.0.113.0/24", "documentation"}, {"224.0.0.0/4", "multicast"}, {"240.0.0.0/4", "reserved"},
		{"::/128", "unspecified"}, {"::1/128", "loopback"}, {"64:ff9b:1::/48", "a local translation to IPv4"},
		{"100::/64", "discarded"}, {"2001::/23", "reserved"}, {"2001:db8::/32", "documentation"},
		{"3fff::/20", "documentation"}, {"5f00::/16", "segment routing"}, {"fc00::/7", "private"},
		{"fe80::/10", "link-local"}, {"fec0::/10", "site-local"}, {"ff00::/8", "multicast"},
	}
}

// Reserved says in a few words what a is when it is no address of the public Internet, and "" when it is one. An IPv6
// address that carries an IPv4 address is judged by that as well.
func Reserved(a netip.Addr) string {
	if !a.IsValid() {
		return "no address"
	}
	if a.Zone() != "" {
		return "bound to an interface"
	}
	a = a.Unmap()
	for _, b := range blocks() {
		if netip.MustParsePrefix(b.prefix).Contains(a) {
			return b.why
		}
	}
	if inner, how := embedded(a); how != "" {
		if why := Reserved(inner); why != "" {
			return how + " for " + inner.String() + ", which is " + why
		}
	}
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) && !netip.MustParsePrefix("64:ff9b::/96").Contains(a) {
		return "outside the public part of IPv6" // RFC 4291, section 2.4: 2000::/3 is all that was given out
	}
	return ""
}

// embedded returns the IPv4 address that an IPv6 address carries, and by which scheme.
func embedded(a netip.Addr) (netip.Addr, string) {
	if !a.Is6() {
		return netip.Addr{}, ""
	}
	b := a.As16()
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a): // RFC 6052
		return at(12), "a translation (NAT64)"
	case netip.MustParsePrefix("2002::/16").Contains(a): // RFC 3056
		return at(2), "a tunnel (6to4)"
	case netip.MustParsePrefix("::/96").Contains(a): // RFC 4291, deprecated
		return at(12), "an IPv4 address in IPv6"
	case binary.BigEndian.Uint32(b[8:])&^(1<<25) == 0x5efe: // RFC 5214, with either value of the u bit
		return at(12), "a tunnel (ISATAP)"
	default:
		return netip.Addr{}, ""
	}
}
