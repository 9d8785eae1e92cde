/** Saves a file with the browser's downloads. */

type Read = { path: string; encoding: 'utf-8' | 'base64'; content: string }

export function saveFile({ path, encoding, content }: Read): void {
  const bytes =
    encoding === 'utf-8'
      ? new TextEncoder().encode(content)
      : Uint8Array.from(atob(content), letter => letter.charCodeAt(0))
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([bytes]))
  link.download = path.slice(path.lastIndexOf('/') + 1)
  link.click()
  // By then the download holds its own reference to the bytes.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
