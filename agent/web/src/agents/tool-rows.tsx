/** Always, Ask or Off for each group of tools and each MCP server. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ClockIcon } from '../ui/icons.tsx'
import {
  CodeIcon,
  DiffIcon,
  FilesIcon,
  OpenIcon,
  ServerIcon,
  TerminalIcon,
  WebIcon,
  WorkerIcon,
} from '../ui/page-icons.tsx'
import { Picker } from '../ui/picker.tsx'
import { agentsWords } from '../words/agents.ts'
import type { Form } from './setting-field.tsx'
import { settingsQuery } from './setting-queries.ts'
import { modeOf, TOOL_GROUPS, type ToolGroup, withMode } from './tool-modes.ts'

const GROUPS = Object.entries(TOOL_GROUPS) as [ToolGroup, readonly string[]][]
const ICONS: Record<ToolGroup, () => ReactNode> = {
  read: FilesIcon,
  edit: DiffIcon,
  run: TerminalIcon,
  web: WebIcon,
  browse: OpenIcon,
  workers: WorkerIcon,
  code: CodeIcon,
  schedule: ClockIcon,
}
const MODES = ['always', 'ask', 'off'] as const

export function ToolRows({ form }: { form: Form }) {
  const { data } = useQuery(settingsQuery('mcp_server'))
  const rows = [
    ...GROUPS.map(([group, tools]) => ({ name: agentsWords.toolGroups[group], Icon: ICONS[group], tools })),
    ...(data?.items ?? []).map(({ name }) => ({
      name: agentsWords.mcpTools(name),
      Icon: ServerIcon,
      tools: [`mcp__${name.replaceAll('.', '_')}__*`],
    })),
  ]
  return (
    <ul className="list tool-modes">
      {rows.map(({ name, Icon, tools }) => (
        <li key={name} className="tool-mode" data-mode={modeOf(form.settings, tools) ?? undefined}>
          <Icon />
          <span className="tool-mode-name">{name}</span>
          <span className="mono faint truncate">{tools.join(', ')}</span>
          <ModeChoice form={form} name={name} tools={tools} />
        </li>
      ))}
    </ul>
  )
}

function ModeChoice({ form, name, tools }: { form: Form; name: string; tools: readonly string[] }) {
  const mode = modeOf(form.settings, tools)
  return (
    <Picker
      className="tool-mode-choice"
      label={agentsWords.toolMode(name)}
      placeholder={agentsWords.mixed}
      options={MODES.map(id => ({
        id,
        text: agentsWords.modes[id],
        isDisabled: withMode(form.settings, tools, id) === null,
      }))}
      value={mode}
      onChange={wanted => {
        const next = withMode(form.settings, tools, wanted)
        if (next !== null) form.change(next)
      }}
    />
  )
}
