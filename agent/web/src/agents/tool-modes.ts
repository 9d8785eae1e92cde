/** Always, Ask or Off for groups of tools, as lists of the policy. Pure. */
import type { TOOL_NAMES } from '@cairn/protocol'
import type { Settings } from './setting-queries.ts'
import { valueAt, withValue } from './setting-values.ts'

export type ToolMode = 'always' | 'ask' | 'off'

type ToolName = (typeof TOOL_NAMES)[number]

/** Groups of built-in tools, as the editor shows them. */
export const TOOL_GROUPS = {
  read: ['read_file', 'list_files', 'search_files'],
  edit: ['write_file', 'edit_file'],
  run: ['terminal'],
  web: ['web_fetch'],
  browse: ['browser_*'],
  workers: ['delegate_task', 'spawn_worker'],
  code: ['run_coding_agent'],
  schedule: ['schedule_create', 'schedule_cancel'],
} as const satisfies Record<string, readonly (ToolName | 'browser_*')[]>
export type ToolGroup = keyof typeof TOOL_GROUPS

const DENIED = 'governance.denied_tools'
const ASKED = 'governance.require_approval'

const listAt = (settings: Settings, path: string): readonly string[] => {
  const value = valueAt(settings, path)
  return Array.isArray(value) ? value.map(String) : []
}

/** Whether a pattern of a list covers the tool, or the pattern, `tool`. */
const covers = (list: readonly string[], tool: string): boolean =>
  list.some(entry =>
    entry.endsWith('*') ? tool.replace(/\*$/, '').startsWith(entry.slice(0, -1)) : entry === tool,
  )

function modeOfTool(settings: Settings, tool: string): ToolMode {
  const offered = valueAt(settings, 'tools')
  const allowed = listAt(settings, 'governance.allowed_tools')
  if (covers(listAt(settings, DENIED), tool)) return 'off'
  if (Array.isArray(offered) && !covers(offered.map(String), tool)) return 'off'
  if (allowed.length > 0 && !covers(allowed, tool)) return 'off'
  return covers(listAt(settings, ASKED), tool) ? 'ask' : 'always'
}

/** Null: the tools of the group have different modes. */
export function modeOf(settings: Settings, tools: readonly string[]): ToolMode | null {
  const modes = new Set(tools.map(tool => modeOfTool(settings, tool)))
  const [mode] = modes
  return modes.size === 1 && mode !== undefined ? mode : null
}

/**
 * The settings with the mode for exactly these tools. Null if a pattern that covers more tools decides: it
 * has to be changed in the list itself.
 */
export function withMode(settings: Settings, tools: readonly string[], mode: ToolMode): Settings | null {
  const without = (path: string, at: Settings): Settings => {
    const kept = listAt(at, path).filter(entry => !tools.includes(entry))
    return withValue(at, path, kept.length === 0 ? undefined : kept)
  }
  const adding = (path: string, at: Settings): Settings => {
    const list = listAt(at, path)
    const missing = tools.filter(tool => !covers(list, tool))
    return missing.length === 0 ? at : withValue(at, path, [...list, ...missing])
  }
  let next = without(ASKED, without(DENIED, settings))
  if (mode === 'off') next = adding(DENIED, next)
  else {
    if (mode === 'ask') next = adding(ASKED, next)
    if (Array.isArray(valueAt(next, 'tools'))) next = adding('tools', next)
    if (listAt(next, 'governance.allowed_tools').length > 0) next = adding('governance.allowed_tools', next)
  }
  return modeOf(next, tools) === mode ? next : null
}
