/**
 * No box, because the configuration says so by name: a command has the rights of the service. What it starts
 * is still ended with it, by the surest holder that this machine has.
 */
import { readFileSync } from 'node:fs'
import { findCgroupContainer, findOwnGroup } from './cgroup.ts'
import type { ProcessContainer } from './process-container.ts'
import { tagContainer } from './process-tags.ts'
import { findNamespaceContainer } from './pid-namespace.ts'
import { findSubreaper } from './subreaper.ts'

/** Surest first. `group` is a control group that may be divided. */
export async function findProcessContainer(
  path: string | undefined,
  group: string | null,
): Promise<(workspace: string) => ProcessContainer> {
  const held =
    (await findNamespaceContainer(path)) ?? (await findCgroupContainer(group)) ?? (await findSubreaper(path))
  return held === null ? tagContainer : () => held
}

/** The control group of this process as a folder; null without cgroup v2. */
export function ownGroup(): string | null {
  try {
    return findOwnGroup(
      readFileSync('/proc/self/mountinfo', 'utf8'),
      readFileSync('/proc/self/cgroup', 'utf8'),
    )
  } catch {
    // Not Linux.
    return null
  }
}
