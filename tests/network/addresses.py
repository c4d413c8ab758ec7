"""Who lives where in the tests' internet. No machine outside has one of these addresses."""

from __future__ import annotations

# "here" is where brig runs; these are the addresses of its only link. "internet" has all others.
HERE4, HERE6 = "192.0.2.2", "2001:db8:0:2::2"
ROUTER4, ROUTER6 = "192.0.2.1", "2001:db8:0:2::1"
RESOLVER4, RESOLVER6 = "198.51.100.53", "2001:db8:53::53"

# The internet has every address of these networks, so a server on a port is at all of them.
NETWORKS4 = ["198.51.100.0/24", "203.0.113.0/24"]
NETWORKS6 = ["2001:db8:1::/48"]
# Nobody is there: the router says so of the first, and nothing at all of the second.
GONE, LOST = "203.0.113.250", "203.0.113.251"
# What no rule with a name may lead to, although there is a route: the metadata of clouds, and
# private networks. If a connection arrives there, brig has made it.
FORBIDDEN4 = [
    "169.254.169.254",
    "168.63.129.16",
    "100.100.100.200",
    "10.66.0.1",
    "172.16.66.1",
    "192.168.66.1",
]
FORBIDDEN6 = ["fd66::1"]

HOSTS: dict[str, tuple[str, str]] = {
    "api.example.org": ("203.0.113.10", "2001:db8:1::10"),
    "www.example.org": ("203.0.113.11", "2001:db8:1::11"),
    "nginx.example.org": ("203.0.113.12", "2001:db8:1::12"),
    "index.pypi.test": ("203.0.113.20", "2001:db8:1::20"),
    "files.pypi.test": ("203.0.113.21", "2001:db8:1::21"),
    "registry.npm.test": ("203.0.113.30", "2001:db8:1::30"),
    "deb.example.org": ("203.0.113.40", "2001:db8:1::40"),
    "git.example.org": ("203.0.113.50", "2001:db8:1::50"),
    "db.example.org": ("203.0.113.60", "2001:db8:1::60"),
    "grpc.example.org": ("203.0.113.70", "2001:db8:1::70"),
    "ws.example.org": ("203.0.113.80", "2001:db8:1::80"),
    "mail.example.org": ("203.0.113.90", "2001:db8:1::90"),
    "talk.example.org": ("203.0.113.100", "2001:db8:1::100"),
    "raw.example.org": ("203.0.113.101", "2001:db8:1::101"),
    "denied.example.net": ("198.51.100.66", "2001:db8:1::66"),
    "four.example.org": ("203.0.113.4", ""),
    "six.example.org": ("", "2001:db8:1::6"),
}

# Servers of talkers.py.
SMTP, SILENT, GREETS, FLOOD, DRIP, ECHO, SINK, HANGS_UP, RAW = (
    25,
    7001,
    7002,
    7003,
    7004,
    7005,
    7006,
    7007,
    8081,
)
# Servers of real_servers.py.
SSH, POSTGRES, REDIS, NGINX, GRPC, GRPC_TLS, WS, WSS = (
    22,
    5432,
    6379,
    8444,
    50051,
    50052,
    8080,
    8443,
)

# Where the ground keeps its files: a tmpfs, which ends with its mount namespace.
PLACE = "/srv"
PUBLIC = f"{PLACE}/pub"  # what cells may read: the CA, keys of clients, guests
PRIVATE = f"{PLACE}/net"  # the servers' own
OWN = f"{PLACE}/here"  # the tests' own
CA = f"{PUBLIC}/ca.pem"
GUESTS = f"{PUBLIC}/guests"
CONTROL = f"{PUBLIC}/control"
