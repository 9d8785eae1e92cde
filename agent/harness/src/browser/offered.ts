/**
 * Which of the package's tools an agent is offered: these, by name, and none that a new version adds. What
 * they take is pinned beside (pinned-tools.json), so that offering them loads nothing.
 */
import pinned from './pinned-tools.json' with { type: 'json' }

/** Groups of the package's tools; those that are left off: cookies, storage, routes, traces, coordinates. */
export const CAPABILITIES = ['core', 'core-navigation', 'core-tabs', 'core-input', 'pdf'] as const

const ALWAYS = [
  'browser_navigate',
  'browser_navigate_back',
  'browser_snapshot',
  'browser_find',
  'browser_click',
  'browser_type',
  'browser_fill_form',
  'browser_select_option',
  'browser_press_key',
  'browser_hover',
  'browser_drag',
  'browser_file_upload',
  'browser_handle_dialog',
  'browser_tabs',
  'browser_wait_for',
  'browser_take_screenshot',
  'browser_console_messages',
  'browser_network_requests',
  'browser_close',
] as const

export type OfferedTool = {
  name: string
  description: string
  readOnly: boolean
  /** JSON Schema. */
  input: Record<string, unknown>
}

/** What the operator has to ask for (`browser.evaluate`, `browser.pdf`). */
export type Asked = { evaluate: boolean; pdf: boolean }

/** In the order the model is shown them. */
export const offeredTools = ({ evaluate, pdf }: Asked): OfferedTool[] =>
  [...ALWAYS, ...(evaluate ? ['browser_evaluate'] : []), ...(pdf ? ['browser_pdf_save'] : [])].map(name => {
    const tool = pinned.find(each => each.name === name)
    if (tool === undefined) throw new Error(`[browser] ${name} is not in pinned-tools.json`)
    return tool
  })
