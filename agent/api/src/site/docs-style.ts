/** The stylesheet of the reference. */
export const DOCS_STYLE = `
:root {
  color-scheme: light dark;
  --ink: light-dark(#1d2320, #e4e8e5);
  --soft: light-dark(#5b655f, #9aa59f);
  --line: light-dark(#dde3df, #333b37);
  --paper: light-dark(#fbfcfb, #141816);
  --tint: light-dark(#eef3f0, #1e2421);
  --accent: light-dark(#17694c, #6cc7a0);
}
* { box-sizing: border-box }
html { scroll-padding-top: 1rem }
body {
  margin: 0; font: 15px/1.6 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  display: grid; grid-template-columns: minmax(0, 17rem) minmax(0, 1fr);
}
nav {
  position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.5rem 1rem 3rem;
  border-right: 1px solid var(--line); font-size: 13px;
}
nav a {
  display: block; padding: .15rem .4rem; color: inherit; text-decoration: none; border-radius: 4px;
  overflow-wrap: anywhere;
}
nav a:hover { background: var(--tint) }
nav b { display: block; margin: 1rem 0 .3rem .4rem }
main { padding: 2rem clamp(1rem, 4vw, 4rem) 6rem; max-width: 70rem }
h1 { font-size: 1.8rem; margin: 0 0 .5rem }
h2 { margin: 3rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem }
h3 { margin: 2.2rem 0 .3rem; font-size: 1rem; font-weight: 600; overflow-wrap: anywhere }
h4 { margin: 1rem 0 .2rem; font-size: .85rem; color: var(--soft) }
code, .path { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere }
code { background: var(--tint); padding: .05rem .3rem; border-radius: 4px }
.method {
  display: inline-block; min-width: 3.6rem; font: 600 12px/1.6 ui-monospace, monospace; color: var(--accent);
}
table { border-collapse: collapse; width: 100%; font-size: 13.5px; display: block; overflow-x: auto }
td, th {
  text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line);
}
th { font-weight: 600; color: var(--soft) }
td:first-child { white-space: nowrap }
a { color: var(--accent) }
p { max-width: 46rem; margin: .4rem 0 }
.soft { color: var(--soft) }
@media (max-width: 50rem) {
  body { display: block }
  nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line) }
  nav a { display: inline-block }
}
`
