/** Names under which the products are published. Nothing else in the repository contains them. */
export const NAMES = {
  /** The npm package with both commands. */
  commands: 'cairn-agent',
  client: '@cairn-agent/client',
  protocol: '@cairn-agent/protocol',
  /** Followed by the platform: `-linux-x64`. */
  kernels: '@cairn-agent/tune',
} as const
