#!/usr/bin/env python3
"""Checks a page of pictures (standard input): every tag closed in order, ids once, links within the page, nothing that is
loaded or run. Prints the sections and what each holds."""
import html.parser
import re
import sys

VOID = {'meta', 'br', 'link', 'img', 'input', 'hr', 'base', 'col', 'embed', 'source', 'track', 'wbr'}
ALLOWED = set('''html head meta title style body h1 h2 nav a main dl dt dd section figure div details summary table thead
tbody tr th td p svg desc g rect line circle path text'''.split())


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.problems, self.ids, self.links, self.sections = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ALLOWED:
            self.problems.append(f'<{tag}> has no place here')
        if tag not in VOID:
            self.open.append(tag)
        for key, value in attributes:
            if key.startswith('on') or key in ('src', 'srcset', 'action', 'data', 'style', 'xlink:href'):
                self.problems.append(f'<{tag} {key}>')
            if key == 'id':
                self.ids.append(value)
            if key == 'href':
                self.links.append(value)
        if tag == 'section':
            self.sections.append([dict(attributes)['id'], 'empty'])
        if self.sections and tag == 'svg':
            self.sections[-1][1] = 'picture'
        if self.sections and tag == 'p' and ('class', 'missing') in attributes:
            self.sections[-1][1] = 'missing'

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f'</{tag}> closes nothing')


text = sys.stdin.read()
page = Page()
page.feed(text)
page.close()
if page.open:
    page.problems.append(f'left open: {page.open}')
if len(set(page.ids)) != len(page.ids):
    page.problems.append('an id twice')
page.problems += [f'link {link}' for link in page.links if link[:1] != '#' or link[1:] not in page.ids]
# Outside of text, nothing may name another place: xmlns is not needed within HTML.
markup = re.sub(r'>[^<]*<', '><', re.sub(r'<style>(.*?)</style>', lambda m: f'<style {m[1]}>', text, flags=re.S))
page.problems += [f'{word} in the markup' for word in ('http:', 'https:', 'url(', '@import', 'javascript:') if word in markup]
if not text.startswith('<!DOCTYPE html>'):
    page.problems.append('no doctype')
for problem in page.problems[:10]:
    print(problem)
for name, holds in page.sections:
    print(f'{name}: {holds}')
sys.exit(bool(page.problems))
