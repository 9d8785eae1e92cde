/**
 * No sandbox, because the configuration explicitly says so: a command has the rights of the service. Its
 * descendants are still ended with it, by the most reliable process container of this machine.
 */
import { readFileSync } from 'node:fs'
import { findCgroupContainer, findOwnGroup } from './cgroup.ts'
import type { ProcessContainer } from './process-container.ts'
import { tagContainer } from './process-tags.ts'
import { findNamespaceContainer } from './pid-namespace.ts'
import { findSubreaper } from './subreaper.ts'

/** Most reliable first. `group`: a control group that may be divided. */
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
