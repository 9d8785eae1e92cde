/** Names under which the products are published. Nothing else in the repository contains them. */
export const NAMES = {
  /** The npm package with both commands. */
  commands: 'cairn-agent',
  client: '@cairn-agent/client',
  protocol: '@cairn-agent/protocol',
  /** Followed by the platform: `-linux-x64`. */
  kernels: '@cairn-agent/tune',
  /** The container image. The other ones add what they contain: `-browser`, `-tune`. */
  image: 'cairn',
} as const

/** Platforms with prebuilt kernels and an executable. */
export const PLATFORMS = ['linux-x64', 'linux-arm64'] as const
export type Platform = (typeof PLATFORMS)[number]

/**
 * Whether a person has reserved the names at the registries. Until then the package with the commands does
 * not depend on the packages of kernels, because anybody could publish them.
 */
export const ARE_RESERVED: boolean = false
