/** Masks the workspace path in everything that is recorded, and unmasks it for tools. */
import { realpathSync } from 'node:fs'
import { WORKSPACE_MARK } from '@cairn/workspace'

export type WorkspaceMask = {
  /** Absolute workspace path → `__WORKSPACE__`, in every string of a value. */
  mask<T>(value: T): T
  /** `__WORKSPACE__` → absolute workspace path, in every string of a value. */
  unmask<T>(value: T): T
}

function mapStrings<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T
  if (Array.isArray(value)) return value.map(item => mapStrings(item, change)) as T
  if (typeof value === 'object' && value !== null) {
    // Object.fromEntries defines `__proto__` as an ordinary key, which an assignment would not.
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [change(key), mapStrings(item, change)]),
    ) as T
  }
  return value
}

/** The configured name and the real one; only the configured one if the folder is not readable. */
function namesOf(workspace: string): string[] {
  try {
    return [workspace, realpathSync(workspace)]
  } catch {
    return [workspace]
  }
}

/** Both directions for one workspace, under each of its names. */
export function workspaceMask(workspace: string): WorkspaceMask {
  const names = [...new Set(namesOf(workspace))]
    .map(name => name.replace(/[/\\]+$/, ''))
    .toSorted((a, b) => b.length - a.length)
  // The path must end there: /w/ab is not inside /w/a.
  const quoted = names.map(name => name.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
  const pattern = new RegExp(`(?:${quoted.join('|')})(?![\\w-]|\\.\\w)`, 'g')
  return {
    mask: value => mapStrings(value, text => text.replace(pattern, WORKSPACE_MARK)),
    unmask: value => mapStrings(value, text => text.replaceAll(WORKSPACE_MARK, () => workspace)),
  }
}
