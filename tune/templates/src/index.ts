/**
 * Chat templates, as Jinja2 renders them in transformers.
 *
 * value    a value of a template, which is one of Python    mark    a part that `{% generation %}` encloses
 */
export { TemplateError } from './errors.ts'
export { ExactNumber, exactJson, parseExact, pythonNumber } from './exact-json.ts'
export type { Mark } from './output.ts'
export { compileTemplate, type RenderedTemplate, type RenderSettings, type Template } from './template.ts'
