/** Tokens of a GGUF file's vocabulary. */

/** Type of a token, by its number in a file. */
export const TOKEN_TYPES = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const
export type TokenType = keyof typeof TOKEN_TYPES
export type Token = { text: string; type: TokenType }
