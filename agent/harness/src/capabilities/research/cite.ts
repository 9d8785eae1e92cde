/**
 * cite: adds a quotation from a page that this branch fetched to the sources of the research, with a number.
 */
import type { NewSource } from '@cairn/log'
import { childConfig } from '@cairn/sessions'
import { z } from 'zod'
import type { SpawnContext } from '../coordination/spawn-context.ts'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool, ToolOutcome } from '../../tools/tool.ts'
import { findFetched } from './fetched.ts'
import { holds, plain, wordsIn } from './quotations.ts'

export const CITE_TOOL = 'cite'
/** One or two words occur on any page. */
const MIN_WORDS = 3

const Parameters = z.strictObject({
  fetch_call_id: z
    .string()
    .min(1)
    .max(8000)
    .describe('the id of your web_fetch call, or the URL that you fetched'),
  quote: z.string().trim().min(1).max(2000).describe('exact words of that page'),
  claim: z.string().trim().min(1).max(500).describe('what they show'),
})
type Args = z.output<typeof Parameters>

export const citeTool = (place: SpawnContext): Tool =>
  defineTool({
    name: CITE_TOOL,
    description:
      'Record a passage of a fetched page as a source of the research. The quote must occur in the text ' +
      'that web_fetch returned: other pages and other words cannot be cited. The result contains the ' +
      'marker of the source, for example [S3]: put it after each statement that the source supports.',
    parameters: Parameters,
    readOnly: false,
    changesSessionOnly: true,
    idempotent: true,
    run: (args, { workspace }) => cite(place, args, workspace),
  })

/** Uses the next number; retries while other branches take it first. */
async function cite(place: SpawnContext, args: Args, workspace: string): Promise<ToolOutcome> {
  const { runner, session } = place
  const branch = childConfig(session)?.branch
  if (branch === undefined) return { content: { error: 'only research branches can cite' } }
  const { quote, claim, fetch_call_id } = args
  if (wordsIn(quote) < MIN_WORDS)
    return { content: { error: `the quote has ${wordsIn(quote)} words; at least ${MIN_WORDS} are required` } }
  const page = await findFetched(runner.store, session.id, workspace, fetch_call_id)
  if ('problem' in page)
    return { content: { error: `${page.problem}. Fetch the page with web_fetch, then cite that call` } }
  if (!holds(page.text, quote))
    return {
      content: {
        error: `the quote does not occur in the text fetched from ${page.url}: quote it exactly`,
      },
    }
  const known = await runner.store.research.sources(branch.run_id)
  const { url, title, fetched_at, call_id } = page
  const source: NewSource = {
    run_id: branch.run_id,
    number: known.length + 1,
    worker_id: session.id,
    fetch_call_id: call_id,
    branch_key: branch.key,
    url,
    title,
    quote: plain(quote),
    claim,
    fetched_at,
  }
  const same = known.find(
    each => each.worker_id === session.id && each.url === url && each.quote === source.quote,
  )
  if (same !== undefined) return { content: { source: `S${same.number}`, url: same.url, known: true } }
  return {
    content: { source: `S${source.number}`, url },
    linked: { rows: [{ do: 'source.add', source }] },
    refused: ({ refusal }) =>
      refusal === 'research_moved' ? cite(place, args, workspace) : Promise.resolve(null),
  }
}
