/**
 * Elements that need the letter keys themselves: fields, dialogs, lists, and the buttons of pickers, on which
 * a letter chooses a value.
 */
export const TAKES_KEYS =
  'input, textarea, [contenteditable], [role="dialog"], [role="menu"], [role="listbox"], ' +
  '[aria-haspopup="listbox"]'
