/** The parts of WebAssembly that instance.ts uses. Node has them, but its types do not declare them. */
declare namespace WebAssembly {
  type Memory = { readonly buffer: ArrayBuffer }
  class Module {
    constructor(bytes: Uint8Array)
    static imports(module: Module): { module: string; name: string }[]
  }
  class Instance {
    constructor(module: Module, imports: Record<string, Record<string, unknown>>)
    readonly exports: object
  }
  class RuntimeError extends Error {}
}
