/** What code is written in: by the name of its file, and for people. */

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

/** The language of a file for `highlight`; its extension where nothing better is known. */
export function languageOfFile(path: string): string {
  const extension = /\.([\w+-]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
  return BY_EXTENSION[extension] ?? extension
}

/** As people write it; what no table knows stays as it was given. */
export const languageName = (language: string): string => NAMES[language.toLowerCase()] ?? language
