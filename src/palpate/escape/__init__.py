"""Foreign text inside generated text: one function for each language and position.

Names of robots, links, joints, frames, scenarios, laws and files are other people's. Before one of them enters C,
Python, CMake, a Makefile, YAML, XML, HTML, Markdown or LaTeX, it goes through the function of this package for that
position. An ordinary name comes out as it went in.

`template.fill` fills a template: every value is escaped for the template's language, except `Written`, which is written
in that language already.
"""
