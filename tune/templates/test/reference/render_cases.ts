/** Renders cases, a JSON object a line of standard input, and writes the results the same way. */
import { createInterface } from 'node:readline'
import { TemplateError, compileTemplate, parseExact, type Template } from '@cairn-tune/templates'

type Case = { template?: string; variables: Record<string, unknown>; now: number }

let template: Template | TemplateError | undefined

function result({ template: source, variables, now }: Case): object {
  try {
    if (source !== undefined) template = compileTemplate(source)
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    template = error
  }
  if (!template || template instanceof TemplateError) return { error: template?.text, isCompileError: true }
  try {
    return template.render(variables, { now: () => new Date(now) })
  } catch (error) {
    if (error instanceof TemplateError) return { error: error.text }
    return { failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(result(parseExact(line) as Case))}\n`)
