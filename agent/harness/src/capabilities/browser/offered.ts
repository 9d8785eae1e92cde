/**
 * The package's tools that an agent is offered: only these, so a new version adds none. Their parameters are
 * pinned in pinned-tools.json, so that offering them loads nothing.
 */
import pinned from './pinned-tools.json' with { type: 'json' }

/** Enabled groups of the package's tools; cookies, storage, routes, traces and coordinates are disabled. */
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

/** What the operator must enable (`browser.evaluate`, `browser.pdf`). */
export type Asked = { evaluate: boolean; pdf: boolean }

/** In the order in which the model sees them. */
export const offeredTools = ({ evaluate, pdf }: Asked): OfferedTool[] =>
  [...ALWAYS, ...(evaluate ? ['browser_evaluate'] : []), ...(pdf ? ['browser_pdf_save'] : [])].map(name => {
    const tool = pinned.find(each => each.name === name)
    if (tool === undefined) throw new Error(`[browser] ${name} is not in pinned-tools.json`)
    return tool
  })
