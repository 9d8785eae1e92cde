/** The browser's tools for the agent: each is one call of the session's browser. */
import { asError } from '@cairn/protocol'
import { z } from 'zod'
import { failure } from '../../tools/run-tool.ts'
import type { Tool, ToolContext, ToolOutcome } from '../../tools/tool.ts'
import type { Quota } from '../../tools/workspace-quota.ts'
import type { Browsers } from './browsers.ts'
import { keepFiles, layOutUploads } from './files.ts'
import { type Asked, type OfferedTool, offeredTools } from './offered.ts'
import { HeldByPerson } from './gate.ts'
import type { SessionBrowser } from './session-browser.ts'
import { withSecrets } from './secrets.ts'

/** Covers a launch, a navigation, and the time for the page to settle. */
const CALL_MS = 120_000
/** The package validates them against the schema that the model sees. */
const Arguments = z.record(z.string(), z.unknown())

export type BrowserToolOptions = Asked & { browsers: Browsers; quota?: Quota }

export const browserTools = (options: BrowserToolOptions): Tool[] =>
  offeredTools(options).map(offered => browserTool(offered, options))

function browserTool(offered: OfferedTool, { browsers, quota }: BrowserToolOptions): Tool {
  const { name, description, readOnly, input } = offered
  return {
    name,
    description,
    parameters: Arguments,
    jsonSchema: input,
    readOnly,
    idempotent: readOnly,
    urls: ['url'],
    paths: ['paths'],
    timeoutMs: () => CALL_MS,
    async run(args, context): Promise<ToolOutcome> {
      if (name === 'browser_close') return close(browsers, context)
      const used = await browsers.use(context)
      const said = await callBrowser(used.browser, name, args, context, quota).catch((error: unknown) => {
        context.signal.throwIfAborted()
        return describeError(error, used.browser)
      })
      const content = { ...said, ...used.note }
      return { content, events: used.events(), refused: () => used.refused() }
    },
  }
}

/** Refused while a person is in control; one who takes control during the call loses the browser. */
async function close(browsers: Browsers, context: ToolContext): Promise<ToolOutcome> {
  const browser = browsers.held(context.session_id)
  if (browser !== undefined && browser.gate.holder !== null)
    return { content: describeError(new HeldByPerson('a person has control of the browser'), browser) }
  return {
    content: 'The browser is closed.',
    events: await browsers.end(context),
    refused: async ({ refusal }) =>
      refusal === 'control_held' || refusal === 'browser_moved' ? close(browsers, context) : null,
  }
}

function describeError(thrown: unknown, browser: SessionBrowser): Record<string, unknown> {
  if (!(thrown instanceof HeldByPerson)) return failure(browser.hide(asError(thrown).message))
  return {
    ...failure(thrown.message),
    code: 'browser_user_control',
    hint: 'Do something else, or end your turn: the user gives the browser back when they are done.',
  }
}

async function callBrowser(
  browser: SessionBrowser,
  name: string,
  args: Record<string, unknown>,
  { workspace, signal }: ToolContext,
  quota: Quota | undefined,
): Promise<Record<string, unknown>> {
  const paths = args['paths']
  const given = Array.isArray(paths)
    ? { ...args, paths: await layOutUploads(browser.launched.folder, workspace, paths.map(String)) }
    : args
  const text = await browser.call(name, await withSecrets(browser, name, given), signal)
  const full = quota === undefined ? null : quota.problem(await quota.measure(workspace))
  const files = await keepFiles(browser.launched.folder, workspace, full)
  const refusals = browser.launched.refusals()
  return {
    page: files.reduce((said, { from, path }) => said.replaceAll(`output/${from}`, path), text),
    ...(files.length === 0 ? {} : { files: files.map(({ path }) => path) }),
    ...(full === null ? {} : { workspace_full: full }),
    ...(refusals.length === 0 ? {} : { network_refused: refusals.map(reason => browser.hide(reason)) }),
  }
}
