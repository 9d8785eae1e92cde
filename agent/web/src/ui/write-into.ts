/** Puts a text into a text field that React controls, with the focus after it. */
export function writeInto(field: Element | null, text: string): void {
  if (!(field instanceof HTMLTextAreaElement)) return
  field.focus()
  // React detects a change only if it was made through the setter of the element's class.
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value')?.set?.call(field, text)
  field.dispatchEvent(new Event('input', { bubbles: true }))
  field.setSelectionRange(text.length, text.length)
}
