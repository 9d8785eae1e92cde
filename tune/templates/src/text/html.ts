/** Escapes for HTML, as the package markupsafe does. */
import { Markup, type Value } from '../values.ts'
import { printed } from './print.ts'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&#34;',
}

/** The text of a value. What counts as escaped is left unchanged. */
export const escapeHtml = (value: Value): string =>
  value instanceof Markup ? value.text : printed(value).replaceAll(/[&<>'"]/g, char => ENTITIES[char] ?? char)
