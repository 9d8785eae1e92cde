/** The language of a file by its name, and the display names of languages. */

const BY_EXTENSION: Readonly<Record<string, string>> = {
  cjs: 'javascript',
  cts: 'typescript',
  h: 'c',
  htm: 'xml',
  html: 'xml',
  mjs: 'javascript',
  mts: 'typescript',
  svg: 'xml',
  toml: 'ini',
  vue: 'xml',
}
const NAMES: Readonly<Record<string, string>> = {
  bash: 'Shell',
  c: 'C',
  cpp: 'C++',
  csharp: 'C#',
  css: 'CSS',
  go: 'Go',
  html: 'HTML',
  java: 'Java',
  javascript: 'JavaScript',
  js: 'JavaScript',
  json: 'JSON',
  jsx: 'JSX',
  markdown: 'Markdown',
  md: 'Markdown',
  php: 'PHP',
  py: 'Python',
  python: 'Python',
  rs: 'Rust',
  ruby: 'Ruby',
  rust: 'Rust',
  sh: 'Shell',
  sql: 'SQL',
  ts: 'TypeScript',
  tsx: 'TSX',
  typescript: 'TypeScript',
  xml: 'XML',
  yaml: 'YAML',
  yml: 'YAML',
}

/** The language of a file for `highlight`; its extension if it is not in the table. */
export function languageOfFile(path: string): string {
  const extension = /\.([\w+-]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
  return BY_EXTENSION[extension] ?? extension
}

/** The display name of a language; an unknown one is returned unchanged. */
export const languageName = (language: string): string => NAMES[language.toLowerCase()] ?? language
