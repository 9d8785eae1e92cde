/** The page docs/providers.md: each server of the zoo with what it refused, and the steps that it reached. */
import { ZOO, ZOO_NAMES } from '@cairn/scripted-model/test/zoo'
import { startTour, STEP_NAMES, type Visit } from './tour.ts'

export const PAGE = 'docs/providers.md'

const HEAD = `# Tested model servers

*Reference. For operators who choose a model server. \`npm run dev -- providers\` writes this page.*

The same session runs against test servers that refuse what each server is known to refuse, and answer in its
form. They are written from public documentation and public reports (\`agent/scripted-model/test/zoo/\`).
Versions and single models of a server may differ.

A step is done (✓) when its turn ends. The last column is ✓ when the log has the same events as with OpenAI,
apart from times, ids, token counts and shown reasoning. "Refused first" lists the refusals that Cairn learned
from: each cost one request, and the next one satisfied the server. A conversation that is too long is
compacted. \`npm test\` runs two of these servers, \`CAIRN_TESTS=all\` all of them.
`

const CHECKS: Readonly<Record<string, string>> = {
  stream_options: 'the field `stream_options`',
  max_tokens: 'the field `max_tokens`',
  max_completion_tokens: 'the field `max_completion_tokens`',
  pictures: 'pictures',
  many_pictures: 'the number of pictures',
  user_after_tool: 'a message after a tool result',
  same_role_twice: 'two messages of one role in a row',
  late_system: 'a system message that is not the first',
  bad_name: 'the name of a tool',
  bad_id: 'the id of a call',
  long_description: 'a long description of a tool',
  many_tools: 'the number of tools',
  schema_keyword: 'a keyword in the schema of a tool',
  bad_arguments: 'arguments that are not JSON',
  null_content: '`content: null`',
  empty_content: 'empty content',
  reasoning_field: 'reasoning in the history',
  no_reasoning: 'calls without their reasoning',
  no_signature: 'calls without their signature',
  adaptive_thinking: 'adaptive thinking',
  unpaired_result: 'a result without its call',
}

export async function visitAll(): Promise<Visit[]> {
  await using tour = await startTour()
  const visits: Visit[] = []
  for (const name of ZOO_NAMES) visits.push(await tour.visit(name))
  return visits
}

export function pageOf(visits: readonly Visit[]): string {
  const reference = JSON.stringify(visits[0]?.log)
  const rows = visits.map(({ name, failures, refused, log }) => {
    const learned = [...new Set(refused)].flatMap(check => CHECKS[check] ?? [])
    const failed = STEP_NAMES.findIndex(step => step in failures)
    return [
      `[${name}](${ZOO[name].docs})`,
      learned.join(', '),
      ...STEP_NAMES.map((_, at) => (failed === -1 || at < failed ? '✓' : at === failed ? '✗' : '–')),
      JSON.stringify(log) === reference ? '✓' : '✗',
    ]
  })
  const head = ['server', 'refused first', ...STEP_NAMES, 'same log']
  const lines = [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`)
  return `${HEAD}\n${lines.join('\n')}\n`
}
