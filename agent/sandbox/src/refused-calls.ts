/**
 * The system calls that no sandbox may use, for bubblewrap and containers: those that create or join
 * namespaces, mount, use the kernel's keys, access another process, load code into the kernel or change the
 * machine. Most of them need privileges that a sandbox does not have; they are refused anyway, to keep kernel
 * code unreachable.
 *
 * The numbers are those of Linux on x86-64 and on arm64 (asm/unistd_64.h, asm-generic/unistd.h); null: the
 * architecture has no such call.
 */
export type Architecture = 'x64' | 'arm64'
type CallNumbers = Readonly<Record<Architecture, number | null>>

const call = <X extends number | null, A extends number | null = X>(x64: X, arm64: X | A = x64) => ({
  x64,
  arm64,
})

/** Refused with EPERM, as if the privilege were missing. */
export const FORBIDDEN_CALLS = {
  unshare: call(272, 97),
  setns: call(308, 268),
  mount: call(165, 40),
  umount2: call(166, 39),
  pivot_root: call(155, 41),
  mount_setattr: call(442),
  move_mount: call(429),
  open_tree: call(428),
  open_tree_attr: call(467),
  fsopen: call(430),
  fsconfig: call(431),
  fsmount: call(432),
  fspick: call(433),
  statmount: call(457),
  listmount: call(458),
  ptrace: call(101, 117),
  process_vm_readv: call(310, 270),
  process_vm_writev: call(311, 271),
  pidfd_getfd: call(438),
  kcmp: call(312, 272),
  open_by_handle_at: call(304, 265),
  fanotify_init: call(300, 262),
  bpf: call(321, 280),
  perf_event_open: call(298, 241),
  syslog: call(103, 116),
  acct: call(163, 89),
  quotactl: call(179, 60),
  quotactl_fd: call(443),
  swapon: call(167, 224),
  swapoff: call(168, 225),
  reboot: call(169, 142),
  kexec_load: call(246, 104),
  kexec_file_load: call(320, 294),
  init_module: call(175, 105),
  finit_module: call(313, 273),
  delete_module: call(176, 106),
  settimeofday: call(164, 170),
  clock_settime: call(227, 112),
  vhangup: call(153, 58),
  iopl: call(172, null),
  ioperm: call(173, null),
} as const satisfies Record<string, CallNumbers>

/** Refused with ENOSYS, as by a kernel without the feature, so that programs use their fallback. */
export const UNKNOWN_CALLS = {
  // Its flags are in memory, where a filter cannot read them; the C library falls back to clone.
  clone3: call(435),
  keyctl: call(250, 219),
  add_key: call(248, 217),
  request_key: call(249, 218),
  io_uring_setup: call(425),
  io_uring_enter: call(426),
  io_uring_register: call(427),
  userfaultfd: call(323, 282),
  // Memory that the watchdog cannot attribute to a process.
  memfd_secret: call(447),
  mbind: call(237, 235),
  set_mempolicy: call(238, 237),
  get_mempolicy: call(239, 236),
  set_mempolicy_home_node: call(450),
  migrate_pages: call(256, 238),
  move_pages: call(279, 239),
  modify_ldt: call(154, null),
  lookup_dcookie: call(212, 18),
  nfsservctl: call(180, 42),
  uselib: call(134, null),
  ustat: call(136, null),
  sysfs: call(139, null),
  _sysctl: call(156, null),
} as const satisfies Record<string, CallNumbers>

/** Allowed only with certain arguments. */
export const CHECKED_CALLS = {
  clone: call(56, 220),
  socket: call(41, 198),
  socketpair: call(53, 199),
  ioctl: call(16, 29),
  personality: call(135, 92),
} as const satisfies Record<string, CallNumbers>

/** The last reviewed call. Newer ones are refused as unknown. */
export const LAST_REVIEWED_CALL = 469

/** The flags of clone(2) and unshare(2) that create a namespace. An ordinary new process sets none. */
export const NEW_NAMESPACES = 0x7e020000

/**
 * Socket families. Network namespaces cover the three internet families but not AF_VSOCK, which reaches the
 * hypervisor; most others are rarely used kernel code.
 */
export const AF_UNIX = 1
export const AF_INET = 2
export const AF_INET6 = 10
/** NETLINK_ROUTE only: getifaddrs(3) uses it to list interfaces, as do node, Go and Chromium. */
export const AF_NETLINK = 16
export const NETLINK_ROUTE = 0

/** IP itself, ICMP, TCP, UDP and ICMPv6. Others, such as SCTP, would make the kernel load a module. */
export const IP_PROTOCOLS: readonly number[] = [0, 1, 6, 17, 58]
