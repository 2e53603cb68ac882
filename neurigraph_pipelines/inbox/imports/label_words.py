"""Words that begin lines of lists, logs, recipes and notes before a colon, and so are no names of speakers.

In the languages in which answers are read: English, German, Spanish, French, Italian, Dutch, Portuguese, Chinese,
Japanese and Korean, and in Russian. ``speakers`` uses them.
"""

from __future__ import annotations

_ENGLISH = """
q note notes info information warning warn error errors debug trace verbose fatal critical notice success failure failed
step steps stage phase option options choice question questions answer answers tip tips hint hints example examples
summary agenda todo todos task tasks action actions item items name names surname phone telephone tel mobile cell fax
email mail e-mail address street city town country state zip postcode website url link links date dates time times
start end duration location place venue subject topic topics title author authors to cc bcc sent received re fw fwd
version status type kind category price prices cost costs total subtotal sum amount quantity qty size color colour
weight height width length age birthday born gender job role company department position education skills experience
hobbies ingredients ingredient method instructions directions preparation serves servings yield result results
conclusion conclusions problem problems solution solutions issue issues reason reasons cause effect idea ideas goal
goals plan plans pros cons advantages disadvantages important attention caution danger reminder remember deadline due
priority owner assignee attendees participants present absent minutes decision decisions next previous update updates
change changes reference references source sources chapter section part page pages figure table appendix abstract
introduction background day week month year morning afternoon evening night noon tonight today tomorrow yesterday
breakfast lunch dinner snack monday tuesday wednesday thursday friday saturday sunday january february march april may
june july august september october november december first second third fourth fifth sixth seventh eighth ninth tenth
final finally last one two three four five six seven eight nine ten image images port ports service services password
username login key value id code number no nr ps nb fyi tldr edit spoiler disclaimer default required input output
before after yes https http ftp file files folder path model make brand mileage engine fuel feedback remark remarks
comment comments description details detail overview purpose scope contents content materials tools equipment
requirements recipe dish course exercise homework lesson chorus verse bridge intro outro scene act setting warnings
usage license copyright fact facts rule rules quote quotes definition meaning translation budget risk risks benefit
benefits advantage disadvantage pro con opportunity opportunities threat threats strength strengths weakness weaknesses
scope timeline milestone milestones deliverable deliverables expected actual expectation reality firstly
secondly thirdly lastly finally however moreover therefore also besides anyway meanwhile otherwise actually basically
hello hi hey welcome thanks sorry please well okay remember imagine bonus part topic background context aside
"""
_GERMAN = """
notiz notizen hinweis hinweise achtung warnung fehler wichtig vorsicht gefahr schritt schritte phase option optionen
wahl frage fragen antwort antworten tipp tipps beispiel beispiele zusammenfassung tagesordnung aufgabe aufgaben punkt
punkte name vorname nachname telefon handy mobil adresse anschrift straße strasse ort stadt land plz datum uhrzeit
zeit beginn ende dauer treffpunkt betreff thema themen titel autor an von gesendet empfangen version status typ art
kategorie preis preise kosten summe gesamt betrag menge anzahl größe farbe gewicht höhe breite länge alter geburtstag
geboren geschlecht beruf rolle firma abteilung ausbildung kenntnisse zutaten zutat zubereitung anleitung portionen
ergebnis ergebnisse fazit problem probleme lösung grund gründe ursache wirkung idee ideen ziel ziele plan vorteile
nachteile erinnerung frist fällig priorität verantwortlich teilnehmer anwesend abwesend protokoll entscheidung
beschluss beschlüsse nächste nächster nächstes weitere änderung änderungen quelle quellen kapitel abschnitt teil seite
abbildung tabelle anhang einleitung hintergrund tag woche monat jahr morgen mittag nachmittag abend nacht heute
gestern frühstück mittagessen abendessen montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar
märz mai juni juli oktober dezember erste erster erstes zweite zweiter zweites dritte dritter drittes vierte vierter
letzte letzter eins zwei drei vier fünf marke modell baujahr kilometerstand bemerkung bemerkungen kommentar
beschreibung details übersicht zweck inhalt material werkzeug passwort benutzername schlüssel wert nummer nr ja nein
vorher nachher übung hausaufgabe strophe refrain regel regeln zitat bedeutung übersetzung stichwort budget risiko
risiken chance chancen vorteil nachteil stärke stärken schwäche schwächen nutzen erwartet tatsächlich erwartung zeitplan
erstens zweitens drittens viertens letztens übrigens außerdem jedoch trotzdem deshalb also kurz kurzum nochmal nebenbei
hallo danke willkommen tschüss bitte entschuldigung merke stimmt genau fakt
"""
_SPANISH = """
nota notas aviso advertencia atención error errores importante cuidado peligro paso pasos fase opción opciones
pregunta preguntas respuesta respuestas consejo consejos ejemplo ejemplos resumen agenda tarea tareas punto puntos
nombre apellido apellidos teléfono móvil correo dirección calle ciudad país fecha hora inicio fin duración lugar
asunto tema temas título autor para de enviado versión estado tipo categoría precio precios coste costo costes total
suma importe cantidad tamaño color peso altura edad cumpleaños nacido sexo profesión cargo empresa ingredientes
preparación instrucciones raciones resultado resultados conclusión problema problemas solución razón causa efecto idea
ideas objetivo objetivos plan ventajas desventajas recordatorio plazo prioridad responsable asistentes participantes
acta decisión decisiones siguiente próximo próxima cambio cambios fuente fuentes capítulo sección parte página tabla
anexo introducción día semana mes año mañana tarde noche hoy ayer desayuno almuerzo comida cena lunes martes miércoles
jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
primero primera segundo segunda tercero tercera último última uno dos tres cuatro cinco marca modelo observaciones
comentario descripción detalles contenido contraseña usuario clave valor número sí no estribillo estrofa presupuesto
riesgo riesgos ventaja desventaja oportunidad esperado real además también primeramente finalmente entonces hola gracias
bienvenidos
"""
_FRENCH = """
note notes remarque avertissement attention erreur erreurs important danger étape étapes phase option options choix
question questions réponse réponses conseil conseils exemple exemples résumé ordre tâche tâches point points nom
prénom téléphone portable courriel adresse rue ville pays date heure début fin durée lieu objet sujet sujets titre
auteur à de envoyé version statut type catégorie prix coût coûts total somme montant quantité taille couleur poids
hauteur âge anniversaire né née sexe métier poste entreprise ingrédients préparation instructions portions résultat
résultats conclusion problème problèmes solution raison cause effet idée idées but objectif objectifs plan avantages
inconvénients rappel délai échéance priorité responsable participants présents absents décision décisions suivant
suivante prochain prochaine changement changements source sources chapitre section partie page tableau annexe
introduction jour semaine mois année matin midi soir nuit aujourd'hui demain hier déjeuner dîner goûter lundi mardi
mercredi jeudi vendredi samedi dimanche janvier février mars avril mai juin juillet août septembre octobre novembre
décembre premier première deuxième troisième dernier dernière un deux trois quatre cinq marque modèle commentaire
description détails contenu passe identifiant clé valeur numéro oui non refrain couplet budget risque risques avantage
inconvénient attendu réel premièrement deuxièmement troisièmement ensuite enfin finalement aussi bonjour bonsoir salut
merci bienvenue bref
"""
_ITALIAN = """
nota note avviso avvertenza attenzione errore errori importante pericolo passo passi passaggio fase opzione opzioni
domanda domande risposta risposte consiglio consigli esempio esempi riassunto compito compiti attività punto punti
nome cognome telefono cellulare indirizzo via città paese data ora inizio fine durata luogo oggetto tema argomento
titolo autore inviato versione stato tipo categoria prezzo prezzi costo costi totale somma importo quantità dimensione
colore peso altezza età compleanno nato nata sesso lavoro ruolo azienda ingredienti preparazione istruzioni porzioni
risultato risultati conclusione problema problemi soluzione motivo causa effetto idea idee obiettivo obiettivi piano
vantaggi svantaggi promemoria scadenza priorità responsabile partecipanti presenti assenti verbale decisione decisioni
prossimo prossima successivo modifica fonte fonti capitolo sezione parte pagina tabella allegato introduzione giorno
settimana mese anno mattina pomeriggio sera notte oggi domani ieri colazione pranzo cena lunedì martedì mercoledì
giovedì venerdì sabato domenica gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre primo prima
secondo seconda terzo terza ultimo ultima uno due tre quattro cinque marca modello commento descrizione dettagli
contenuto chiave valore numero sì ritornello strofa bilancio rischio rischi vantaggio svantaggio atteso innanzitutto
inoltre infine poi ciao buongiorno grazie benvenuti
"""
_DUTCH_AND_PORTUGUESE = """
notitie opmerking waarschuwing fout fouten belangrijk let gevaar stap stappen fase optie opties keuze vraag vragen
antwoord antwoorden voorbeeld samenvatting taak taken punt punten naam voornaam achternaam telefoon adres straat stad
land datum tijd begin einde duur plaats onderwerp titel auteur aan van verzonden versie soort prijs prijzen kosten
totaal bedrag aantal maat kleur gewicht leeftijd verjaardag geboren beroep bedrijf ingrediënten bereiding personen
resultaat conclusie probleem oplossing reden oorzaak idee doel plan voordelen nadelen herinnering prioriteit
deelnemers aanwezig afwezig besluit volgende wijziging bron bronnen hoofdstuk deel pagina tabel bijlage inleiding dag
week maand jaar ochtend middag avond nacht vandaag gisteren ontbijt diner maandag dinsdag woensdag donderdag vrijdag
zaterdag zondag januari februari maart mei augustus eerste tweede derde laatste een twee drie vier vijf merk model
wachtwoord sleutel waarde nummer ja nee refrein couplet nota notas aviso atenção erro erros importante cuidado perigo
passo passos etapa etapas opção opções escolha pergunta perguntas resposta respostas dica dicas exemplo exemplos
resumo tarefa tarefas ponto pontos nome sobrenome apelido telefone telemóvel celular endereço morada rua cidade país
data hora início fim duração local assunto tema título autor enviado versão estado tipo categoria preço preços custo
custos total soma valor quantidade tamanho cor peso altura idade aniversário nascido profissão cargo empresa
ingredientes preparo preparação modo instruções porções resultado resultados conclusão problema problemas solução
motivo causa efeito ideia ideias objetivo objetivos plano vantagens desvantagens lembrete prazo prioridade responsável
participantes presentes ausentes ata decisão decisões próximo próxima seguinte alteração fonte fontes capítulo secção
seção parte página tabela anexo introdução dia semana mês ano manhã tarde noite hoje amanhã ontem almoço jantar
segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo janeiro fevereiro março maio junho
julho setembro outubro novembro dezembro primeiro primeira segundo segunda terceiro terceira último última um dois
três quatro cinco marca modelo comentário descrição detalhes conteúdo senha chave número sim não refrão begroting risico
voordeel nadeel verwacht werkelijk ten eerste tweede bovendien trouwens hallo bedankt welkom orçamento risco riscos
vantagem desvantagem esperado além primeiramente enfim olá obrigado obrigada
"""
_OF_EAST_ASIA = """
注意 注 备注 備註 説明 说明 警告 错误 錯誤 信息 提示 步骤 步驟 问题 問題 回答 答案 例 例如 总结 總結 议程 任务 姓名
名字 电话 電話 手机 邮箱 地址 城市 国家 日期 时间 時間 地点 地點 主题 標題 标题 作者 版本 状态 类型 价格 價格 费用
总计 数量 材料 做法 结果 结论 原因 目标 计划 优点 缺点 提醒 截止 参会人 决定 下一步 来源 章节 星期一 星期二 星期三
星期四 星期五 星期六 星期日 今天 明天 昨天 早上 下午 晚上 第一 第二 第三 第一步 第二步 第三步 メモ 備考 エラー 情報
手順 質問 名前 氏名 住所 日付 日時 場所 件名 題名 著者 価格 合計 作り方 結果 結論 理由 目的 予定 参加者 決定事項 次回
月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日 今日 明日 昨日 ヒント 例文 참고 주의 경고 오류 정보 단계 질문 답변 예
예시 요약 안건 할일 이름 성명 전화 전화번호 주소 도시 날짜 시간 장소 제목 저자 버전 상태 가격 합계 수량 재료 만드는법
결과 결론 이유 목표 계획 참석자 결정 다음 월요일 화요일 수요일 목요일 금요일 토요일 일요일 오늘 내일 어제 아침 점심
저녁 첫째 둘째 셋째
"""
_RUSSIAN = """
шаг шаги этап совет советы подсказка заметка примечание внимание важно предупреждение ошибка вопрос ответ пример итог
итого вывод задача задачи пункт имя фамилия телефон адрес город страна дата время место тема название автор версия
статус тип категория цена стоимость сумма количество размер цвет вес рост возраст ингредиенты ингредиент приготовление
способ результат проблема решение причина идея цель план плюс плюсы минус минусы преимущество недостаток риск бюджет
срок участники решение следующий изменение источник глава раздел часть страница таблица введение день неделя месяц год
утро вечер сегодня вчера завтра завтрак обед ужин понедельник вторник среда четверг пятница суббота воскресенье первый
второй третий первое второе третье раз два три да нет привет спасибо кстати
"""
LABELS = frozenset(
    " ".join((_ENGLISH, _GERMAN, _SPANISH, _FRENCH, _ITALIAN, _DUTCH_AND_PORTUGUESE, _RUSSIAN, _OF_EAST_ASIA)).split()
) - set("may april june august julio avril domingo mars mai art von van de no an".split())
"""Words in lower case, without those that are names of people as well or belong to names."""

SURNAMES = frozenset(
    "price page day key weeks role morgen abend montag freitag samstag sonntag winter tag punkt teil costa primo "
    "real marche field stage year meaning quarter santos leal rey sexta segundo prima".split()
)
"""Labels that are names of people behind a first name."""
