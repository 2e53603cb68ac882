"""Given names of people, and words before names. ``speakers`` knows by them that a label before a colon is a person.

Names that are cities, months or other words as well are left out, because a label is then as likely that word.
"""

from __future__ import annotations

_EUROPEAN = """
aaron abby adam adrian adriana agnes agnieszka aina aisha alan alba albert alberto alejandra alejandro aleksandra alex
alexander alexandra alexandre alexis alfred alfredo alice alicia alina alison alois amanda amelia amelie amy ana andré
andre andrea andreas andrej andrew andrey andrzej anette angela angelika angelo anita anja anke ann anna anne annette
annie anthony antje anton antonella antonia antonio antónio arne arno arthur artur astrid auguste aurélie axel barbara
bart bas beate beatrice beatriz becky ben benedikt benjamin benoît bent bernard bernd bernhard beth bianca birgit
björn bob bogdan boris bram brenda brian brigitte britta bruce bruno camila camille carina carl carla carlo carlos
carmen carol carolin carolina caroline carsten caterina catherine cathy cécile cédric céline charles charlie chiara
chloé chloe chris christa christel christian christiane christina christine christoph christophe christopher clara
claire clara claude claudia claudio clémence connor conor conny corinna cornelia cristina daan dagmar dan daniel
daniela daniele danny dario dave david davide deborah denis denise derek detlef diana diane diego dieter dietmar
dimitri dirk dmitri dmitry dominik dominique donald doris dorothea doug duarte eberhard ed eddie eduard eduardo edward
egon elena eleni elfriede elias elif elisa elisabeth elizabeth elke ella ellen els elsa elvira emil emilia emilie
emily emma emmanuel enrico enrique eric erica erich erik erika erin ernst erwin esther ethan étienne eugen eva evan
eve evelyn ewa fabian fabien fabio fabrice federica federico felix femke ferdinand fernanda fernando filip filipe
fiona florian françois francesca francesco francisco franck frank franz franziska fred frederik frédéric friedrich
frieda fritz gabi gabriel gabriela gabriele gary geert georg george georges georgios gerald gerard gerd gerda gerhard
gianni gilles gina giorgio giovanna giovanni gisela giulia giuseppe gonzalo gordon greg gregor gregory greta grzegorz
guido guillaume günter günther gustav hanna hannah hannelore hannes hans harald harold harry hartmut hedwig heidi
heike heiko heinrich heinz helen helena helene helga helmut hendrik henk henning henri henry herbert hermann hilde
holger horst hugo ian ignacio ilse ines inés inga inge ingo ingrid irena irene irina iris isaac isabel isabell
isabella isabelle ivan ivana ivo jack jackie jacob jacques jakob jakub james jamie jan jana jane janet janina janine
jason javier jay jean jeff jelena jenna jennifer jenny jens jeremy jérôme jess jessica jill jim jimmy joachim joan
joana joanna joão jochen joe joel johan johann johanna johannes john johnny jon jonas jonathan joost jordi jorge jörg
jörn josé jose josef josefine joseph josephine josh joshua juan juana judith judy julia julian juliana julie julien
juliette jürgen jutta kai karen kari karin karina karl karla karsten kasia kate katarina katarzyna katerina katharina
kathrin katherine kathy katja katrin katie kees keith kelly ken kenneth kerstin kevin kirsten klaas klara klaus knut
konrad konstantin kristian kristin kristina krzysztof kurt kyle lara lars laura laure lauren laurent léa lea leah lena
lennart leo leon léon leonard leonie leonor leslie liam lieke lilly lily linda lisa liv liz lois lorena lorenz lorenzo
lothar lotte louis louise luc luca lucas lucia lucía lucie lucy ludwig luigi luis luís luisa luise luka lukas luke
lutz lydia maarten maciej magda magdalena magnus maike małgorzata manfred manon manuel manuela marc marcel marcelo
marcin marco marcos marcus margaret margarete margot maria maría marianne marie marina mario mariusz marion marjan
markus marlene marta martha martin martina martine matej mateo mateusz mathias mathieu mathilde matteo matthew
matthias matthieu matti max maxime maximilian maya megan melanie melissa mia michael michaela michał michel michela
michele michelle miguel mikael mike mikhail mila milan milena minna mira miranda miriam mirko molly monica monika
monique moritz nadia nadine nadja naomi natalia natalie natasha nathalie nathan neil niamh nicholas nick nico nicola
nicolas nicole niels nikita niklas niko nikolai nikolaus nikos nils nina noah noémie nora norbert nuno odd ola olaf
ole oleg olga oliver olivia olivier oscar oskar otto pablo paola paolo pascal patricia patrick patrizia paul paula
paulo pavel pedro peer peggy penny per petra peter phil philip philipp philippe pia pierre pieter pietro pilar piotr
rachel rafael raffaele rainer ralf ralph ramon ramón raquel raymond rebecca regina reinhard reinhold renate renaud
rené ricardo riccardo richard rick rita rob robert roberta roberto rodrigo roger roland rolf roman ronald rosa rosalie
rosemarie rosie ruben rudi rudolf rui rune rupert russell ruth ryan sabina sabine sabrina sally salvatore samantha
samuel sandra sandrine sanne sara sarah sascha saskia sean sébastien sebastian sergei sergey sergio siegfried sigrid
silke silvia simon simona simone sjoerd sofia sofía sofie sonia sonja sophia sophie stacy stefan stefania stefanie
stefano steffen steffi stella stephan stephanie stéphane stephen steve steven stuart sue susan susana susanne suzanne
sven svenja svetlana sylvia sylvie tamara tania tanja tatiana ted teresa terry thea theo theresa thérèse thibault
thierry thomas thorsten tiago till tim timo timothy tina tobias todd tom tomás tomas tomasz tommy toni tony torben
torsten tracy udo ulf uli ulla ulrich ulrike ursula uschi ute uwe valentin valentina valentine valerie valérie vanessa
vera verena veronica veronika véronique viktor viktoria vincent vincenzo virginie vivian vladimir volker waltraud
walter wanda wendy werner wiebke wiktor wilfried wilhelm willem willi william wim wojciech wolf wolfgang xavier
yannick yann yolanda yves yvonne zach zoe zoé zoë
"""
_OF_OTHER_PLACES = """
abdul abdullah ahmed ahmet aiko akira ali alparslan amina amir amit anil anjali arjun asha ayşe aziz baran bilal burak
can cem chen deepak deniz emre fatima fatma farid hakan hamid haruto hassan hiroshi hussein ibrahim jamal kavita kenji
khalid kumar lakshmi layla leila mehmet mei ming minh mohamed mohammad mohammed mostafa muhammad mustafa nguyen noor olu
omar ömer priya rahul raj rajesh rashid ravi reza sakura salma samir sanjay satoshi selin sunil sunita takeshi tariq
vijay vikram wei wang xiao xin yasmin yuki yusuf zainab zeynep
александр алексей алина алла анастасия андрей анна антон борис вадим валентина вера виктор виктория владимир галина
григорий даша денис дмитрий евгений екатерина елена иван игорь ирина катя кирилл ксения лена леонид людмила максим
марина мария маша миша михаил наталья наташа никита николай оксана олег ольга павел пётр роман саша светлана семён
сергей софия степан татьяна юлия юрий яна
"""
_BEFORE_NAMES = """
mr mrs ms miss dr prof sir madam herr frau señor señora sr sra don doña monsieur madame mme signor signora dott
mevrouw meneer senhor senhora speaker sprecher sprecherin hablante locuteur interlocuteur parlante spreker falante
interviewer interviewerin moderator moderatorin presenter host narrator caller unknown спикер 发言人 説話人 話者 화자
"""

GIVEN_NAMES = frozenset((_EUROPEAN + _OF_OTHER_PLACES + _BEFORE_NAMES).split())
"""In lower case."""
