"""tantivy with its English stems and stop words, on disk."""

from __future__ import annotations

from protocol import Bench, Search, serve


def words(bench: Bench) -> Search:
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_integer_field("number", stored=True)
    schema.add_text_field("text", tokenizer_name="english")
    index = tantivy.Index(schema.build(), path=str(bench.scratch))
    simple = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    lower = simple.filter(tantivy.Filter.remove_long(40)).filter(tantivy.Filter.lowercase())
    plain = lower.filter(tantivy.Filter.stopword("english"))
    index.register_tokenizer("english", plain.filter(tantivy.Filter.stemmer("english")).build())
    writer = index.writer(num_threads=1)
    for number, text in enumerate(bench.texts):
        writer.add_document(tantivy.Document(number=number, text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(question: str) -> list[int]:
        query, _ = index.parse_query_lenient(question, ["text"])
        hits = searcher.search(query, bench.k).hits
        return [searcher.doc(address)["number"][0] for _, address in hits]

    return search


if __name__ == "__main__":
    serve({"tantivy": words}, ["tantivy"])
