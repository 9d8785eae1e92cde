/**
 * What an export includes and excludes. Defined once: the CLI's flags, the filters and docs/export.md follow
 * it.
 */
import { typesWith } from '@cairn/protocol'

export const EXPORT_FORMATS = ['jsonl', 'sft', 'dpo', 'kto', 'atif'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
export type TrainingFormat = Exclude<ExportFormat, 'jsonl'>

export type Selection = {
  /** The raters whose ratings count. */
  source: 'user' | 'judge' | 'any'
  /** Sessions that contain one of these events are excluded. */
  exclude: readonly string[]
  /** Agents to include; empty includes all. */
  agents: readonly string[]
}
/** A denied call, a crash or a rollback makes a session a bad example. */
export const DEFAULT_EXCLUDED: readonly string[] = typesWith('trouble', 'exclude')
export const DEFAULT_SELECTION: Selection = { source: 'any', exclude: DEFAULT_EXCLUDED, agents: [] }

/** A tool definition in the format of chat models. */
export type ToolDefinition = {
  type: 'function'
  function: { name: string; description: string; parameters: Record<string, unknown> }
}
/** The definition of a tool by name; one without constraints for an unknown tool. */
export type DefineTool = (name: string) => ToolDefinition
