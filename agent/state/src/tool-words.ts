/**
 * How a tool call is named for people, in every view: a verb, an object and an icon for each built-in tool.
 * Calls that follow each other and share a group can be shown as one.
 */
import { oneLine, type TOOL_NAMES } from '@cairn/protocol'

export type ToolIcon =
  | 'files'
  | 'folder'
  | 'search'
  | 'pencil'
  | 'diff'
  | 'terminal'
  | 'globe'
  | 'worker'
  | 'board'
  | 'plan'
  | 'flag'
  | 'clock'
  | 'lens'
  | 'question'
  | 'hand'
  | 'chart'
  | 'book'
  | 'code'
  | 'server'
  | 'spark'

export type ToolGroup = {
  id: string
  /** What is counted: the calls, or the different things that they are about. */
  counts: 'calls' | 'objects'
  title: (count: number) => string
}

export type ToolWords = {
  verb: string
  /** What the verb applies to; empty if the verb says it all. */
  object: string
  icon: ToolIcon
  group: ToolGroup | null
  /** The server of an MCP tool. */
  server?: string
}

type Arguments = Readonly<Record<string, unknown>>
type Row = {
  verb: string
  icon: ToolIcon
  object?: (args: Arguments) => string
  group?: ToolGroup
}
type ToolName = (typeof TOOL_NAMES)[number]

const text =
  (...keys: string[]) =>
  (args: Arguments): string => {
    for (const key of keys) {
      const value = args[key]
      if (typeof value === 'string' && value !== '') return value
      if (typeof value === 'number') return String(value)
    }
    return ''
  }

const listed = (value: unknown): readonly Arguments[] =>
  Array.isArray(value) ? value.filter((one): one is Arguments => typeof one === 'object' && one !== null) : []

/** The host and the path of an address. */
function place(args: Arguments): string {
  const url = text('url')(args)
  return URL.canParse(url) ? url.replace(/^https?:\/\//, '').replace(/\/$/, '') : url
}

const many = (verb: string, noun: string, counts: ToolGroup['counts'] = 'objects'): ToolGroup => ({
  id: `${verb} ${noun}`,
  counts,
  title: (count: number) => `${verb} ${count} ${count === 1 ? noun : `${noun}s`}`,
})
const READ = many('Read', 'file')
const SEARCH: ToolGroup = { id: 'search', counts: 'calls', title: (count: number) => `Search ${count} times` }
const LIST = many('List', 'folder')
const EDIT = many('Edit', 'file')
const RUN = many('Run', 'command', 'calls')
const FETCH = many('Fetch', 'page')
const BROWSE: ToolGroup = {
  id: 'browse',
  counts: 'calls',
  title: (count: number) => `Browse, ${count} steps`,
}

/** The description of a page element is for people; its reference is not. */
const element = text('element', 'target', 'ref')
const browse = (verb: string, object?: Row['object']): Row => ({
  verb,
  icon: 'globe',
  group: BROWSE,
  ...(object && { object }),
})
const worker = (verb: string, object?: Row['object'], icon: ToolIcon = 'worker'): Row => ({
  verb,
  icon,
  ...(object && { object }),
})

function goals(args: Arguments): string {
  const several = listed(args['goals']).map(text('goal'))
  return several.length > 0 ? several.join(' · ') : text('goal')(args)
}

function planned(args: Arguments): string {
  const todos = listed(args['todos'])
  const done = todos.filter(({ status }) => status === 'completed').length
  const now = todos.find(({ status }) => status === 'in_progress')
  const sums = `${done} of ${todos.length}`
  return now === undefined ? sums : `${sums}: ${text('content')(now)}`
}

const TOOLS: { readonly [K in ToolName]: Row } = {
  read_file: { verb: 'Read', icon: 'files', object: text('path'), group: READ },
  write_file: { verb: 'Write', icon: 'pencil', object: text('path'), group: EDIT },
  edit_file: { verb: 'Edit', icon: 'diff', object: text('path'), group: EDIT },
  list_files: { verb: 'List', icon: 'folder', object: args => text('path')(args) || '.', group: LIST },
  search_files: { verb: 'Search', icon: 'search', object: text('pattern'), group: SEARCH },
  terminal: { verb: 'Run', icon: 'terminal', object: text('command'), group: RUN },
  web_fetch: { verb: 'Fetch', icon: 'globe', object: place, group: FETCH },
  todo: { verb: 'Plan', icon: 'plan', object: planned },
  ask_user_question: {
    verb: 'Ask you',
    icon: 'question',
    object: args => text('prompt')(listed(args['questions'])[0] ?? {}),
  },
  request_user_action: { verb: 'Ask you to act', icon: 'hand', object: text('title') },
  create_artifact: { verb: 'Show', icon: 'chart', object: text('name') },
  spawn_worker: worker('Start worker', text('goal')),
  delegate_task: worker('Start worker', goals),
  wait_for_workers: worker('Wait for workers'),
  list_workers: worker('List workers'),
  read_worker_result: worker('Read result of', text('worker_id'), 'files'),
  send_worker_message: worker('Message worker', text('message', 'worker_id')),
  stop_worker: worker('Stop worker', text('worker_id')),
  apply_worker_files: worker('Take files from', text('worker_id')),
  worker_complete: worker('Report result', text('summary')),
  spawn_task: worker('Add task', text('goal')),
  list_tasks: worker('List tasks'),
  unblock_task: worker('Answer task', text('answer', 'task_id')),
  cancel_task: worker('Cancel task', text('task_id')),
  worker_block: worker('Ask for help', text('reason')),
  share_note: worker('Share note', text('content'), 'board'),
  read_board: worker('Read board', undefined, 'board'),
  load_skill: { verb: 'Load skill', icon: 'book', object: text('name') },
  consult_expert: { verb: 'Ask', icon: 'lens', object: text('expert', 'name') },
  schedule_create: { verb: 'Schedule', icon: 'clock', object: text('name', 'prompt') },
  schedule_list: { verb: 'List schedules', icon: 'clock' },
  schedule_cancel: { verb: 'Cancel schedule', icon: 'clock', object: text('name', 'schedule_id') },
  research_branch: worker('Start branch', text('question', 'goal')),
  research_adopt: worker('Adopt branch', text('branch_id', 'worker_id')),
  research_report: { verb: 'Write report', icon: 'pencil', object: text('title') },
  cite: { verb: 'Cite', icon: 'book', object: text('url', 'source') },
  run_coding_agent: { verb: 'Run coding agent', icon: 'code', object: text('prompt', 'task') },
  browser_navigate: browse('Open page', place),
  browser_navigate_back: browse('Go back'),
  browser_snapshot: browse('Look at page'),
  browser_find: browse('Find', text('text', 'query')),
  browser_click: browse('Click', element),
  browser_type: browse('Type into', element),
  browser_fill_form: browse('Fill form'),
  browser_select_option: browse('Choose in', element),
  browser_press_key: browse('Press', text('key')),
  browser_hover: browse('Hover over', element),
  browser_drag: browse('Drag', text('startElement', 'startTarget')),
  browser_file_upload: browse('Upload file'),
  browser_handle_dialog: browse('Answer dialog'),
  browser_tabs: browse('Switch tab'),
  browser_wait_for: browse('Wait for', text('text', 'textGone', 'time')),
  browser_take_screenshot: browse('Take screenshot'),
  browser_console_messages: browse('Read console'),
  browser_network_requests: browse('Read network'),
  browser_close: browse('Close browser'),
  browser_evaluate: browse('Run script'),
  browser_pdf_save: browse('Save page as PDF'),
  begin_mission: { verb: 'Start mission', icon: 'flag', object: text('description') },
  service_address: { verb: 'Publish port', icon: 'globe', object: text('port') },
}

/** `mcp__<server>__<tool>`; a server name contains no "__". */
const MCP = /^mcp__(.+?)__(.+)$/

const sentence = (name: string): string => {
  const words = name.replaceAll(/[_-]+/g, ' ').trim()
  return words === '' ? name : words.charAt(0).toUpperCase() + words.slice(1)
}

const isKnown = (name: string): name is ToolName => Object.hasOwn(TOOLS, name)

const MAX_CHARS = 140

/** Arguments that are not an object give no object. */
export function toolWords(name: string, args: unknown): ToolWords {
  const given = typeof args === 'object' && args !== null && !Array.isArray(args) ? (args as Arguments) : {}
  if (isKnown(name)) {
    const { verb, icon, object, group = null } = TOOLS[name]
    return { verb, icon, group, object: oneLine(object?.(given) ?? '', MAX_CHARS) }
  }
  const [, server, tool] = MCP.exec(name) ?? []
  const verb = sentence(tool ?? name)
  const group: ToolGroup = { id: name, counts: 'calls', title: (count: number) => `${verb}, ${count} calls` }
  const object = oneLine(excerpt(given), MAX_CHARS)
  return server === undefined
    ? { verb, object, icon: 'spark', group }
    : { verb, object, icon: 'server', group, server }
}

/** The arguments of a tool that Cairn does not know. */
const excerpt = (args: Arguments): string =>
  Object.entries(args)
    .map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('  ')
