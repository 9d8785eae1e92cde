/**
 * True if a reader sees nothing of the text: it has only white space, controls and characters that are drawn
 * as nothing. Messaging platforms and model servers reject such a text like an empty one.
 */
export const isBlank = (text: string): boolean => BLANK.test(text)

const BLANK = /^[\p{White_Space}\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]*$/u
